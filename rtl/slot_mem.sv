// slot_mem: a memory of one write and one read port, read after one clock; a row read while it is written is unknown.
module slot_mem #(
  parameter int Width = 3072,
  parameter int Depth = 4096,
  localparam int A = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             w_en_i,
  input  logic [A-1:0]     w_row_i,
  input  logic [Width-1:0] w_data_i,
  input  logic             r_en_i,
  input  logic [A-1:0]     r_row_i,
  output logic [Width-1:0] r_data_o
);
  (* ram_style = "ultra" *) logic [Width-1:0] rows_q [0:Depth-1];
  logic [Width-1:0] read_q;
  always_ff @(posedge clk_i) begin
    if (w_en_i) rows_q[w_row_i] <= w_data_i;
    if (r_en_i) read_q <= rows_q[r_row_i];
  end
  assign r_data_o = read_q;
endmodule
