#!/usr/bin/env python3
"""between.py: wraps a module in registers behind two pins, to place and route it alone.

usage: between.py NETLIST.json MODULE
Prints Verilog of a module `between` with the pins clk_i, d_i and q_o.
Each input comes from a register of one long shift chain that starts at d_i. Each output goes to
its own register, and a second chain XORs these registers into q_o. Between two registers of the
chains there is at most one LUT, so the longest path is the module's.
"""
import json
import sys


def main(args):
    if len(args) != 2:
        raise SystemExit(__doc__)
    with open(args[0], encoding='utf-8') as f:
        module = json.load(f)['modules'][args[1]]
    pins, n_in, n_out = [], 0, 0
    for name, port in module['ports'].items():
        width = len(port['bits'])
        if name == 'clk_i':
            pins.append('.clk_i(clk_i)')
        elif port['direction'] == 'input':
            pins.append(f'.{name}(in_q[{n_in} +: {width}])')
            n_in += width
        else:
            pins.append(f'.{name}(out[{n_out} +: {width}])')
            n_out += width
    print(f"""module between (input clk_i, input d_i, output q_o);
  reg [{n_in - 1}:0] in_q;
  wire [{n_out - 1}:0] out;
  reg [{n_out - 1}:0] out_q, sum_q;
  always @(posedge clk_i) begin
    in_q  <= {{in_q, d_i}};
    out_q <= out;
    sum_q <= out_q ^ {{sum_q, 1'b0}};
  end
  assign q_o = sum_q[{n_out - 1}];
  {args[1]} u_piece ({', '.join(pins)});
endmodule""")


if __name__ == '__main__':
    main(sys.argv[1:])
