// slot_mem: stores rows; a read takes one clock, and is undefined while its row is written.
module slot_mem #(
  parameter int Width = 64 * (nc_pkg::CARD_SUM_BITS + 2),
  parameter int Depth = 4096,
  parameter int Ultra = 1,                   // 1: UltraRAM; 0: any
  parameter int Parts = 1,                   // of a row, written by their bit of w_en_i
  localparam int A = $clog2(Depth), P = Width / Parts
) (
  input  logic             clk_i,
  input  logic [Parts-1:0] w_en_i,
  input  logic [A-1:0]     w_row_i,
  input  logic [Width-1:0] w_data_i,
  input  logic             r_en_i,
  input  logic [A-1:0]     r_row_i,
  output logic [Width-1:0] r_data_o
);
  generate
    if (Ultra != 0) begin : g
      (* ram_style = "ultra" *) logic [Width-1:0] rows_q [0:Depth-1];
    end else begin : g
      logic [Width-1:0] rows_q [0:Depth-1];
    end
  endgenerate
  logic [Width-1:0] read_q;
  always_ff @(posedge clk_i) begin
    for (int p = 0; p < Parts; p++)
      if (w_en_i[p]) g.rows_q[w_row_i][P*p+:P] <= w_data_i[P*p+:P];
    // x: returning the old row would cost flip-flops around the memory
    if (r_en_i) read_q <= w_en_i != '0 && w_row_i == r_row_i ? 'x : g.rows_q[r_row_i];
  end
  assign r_data_o = read_q;

`ifdef FORMAL
  // The proof follows one part of one row: a read returns the value written last, until the next
  // read.
  (* anyconst *) logic [A-1:0] row;
  (* anyconst *) logic [$clog2(Parts+1)-1:0] part;
  logic         some_q, asked_q;
  logic [P-1:0] word_q, due_q;
  wire [Width-1:0] stored = g.rows_q[row];
  initial {some_q, asked_q} = '0;
  always_ff @(posedge clk_i) begin
    if (w_en_i[part] && w_row_i == row) {some_q, word_q} <= {1'b1, w_data_i[P*part+:P]};
    if (r_en_i) asked_q <= some_q && r_row_i == row && !(w_en_i != '0 && w_row_i == row);
    if (r_en_i) due_q <= word_q;
  end
  always_comb begin
    assume (32'(part) < Parts);
    if (some_q) assert (stored[P*part+:P] == word_q);
    if (asked_q) assert (r_data_o[P*part+:P] == due_q);
  end
`endif
endmodule
