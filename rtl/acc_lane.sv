// acc_lane: one lane of the tile: decodes a byte, adds it to its 48-bit word of a row, which may come from the slot
// memory, from the sum made one clock ago or from the one before that.
//
//     47 46 | 45 ........................... 0      8 and 16 bits: {-inf, +inf}, sum
//     47 46 | 45 ... 31 | 30 18 | 17 16 | 15 ... 0  4 bits: {-inf, +inf}, high sum, -, {-inf, +inf}, low sum
//
// Forwarding costs nothing: a bit of the chain is term ^ (4:1 of {row, sum, last, 0}), six inputs, one LUT. a + b + 1 is
// written a - ~b: a sum's operands may be exchanged by synthesis, and the mux would need a LUT of its own.
// MAX takes two beats of the chain: sum = row - byte, cleared if negative (clip_i); then sum + byte.
// data (clock 0) -> term_q (1), row_i beside it -> sum_o (2), which is written to the memory in that clock.
module acc_lane #(
  parameter int Wide = 1,
  parameter int Half = 1
) (
  input  logic        clk_i,
  input  logic        term_en_i,
  input  logic [7:0]  byte_i,
  input  logic [7:0]  next_i,
  input  logic [5:1]  e_i,
  input  logic        fn_i,
  input  logic        max_i,
  input  logic        flip_i,
  input  logic        four_i,
  input  logic        half_i,
  input  logic        sum_en_i,              // from here on: one clock later
  input  logic        sum_four_i,
  input  logic        clip_i,
  input  logic [1:0]  from_i,                // FROM_ROW, FROM_SUM, FROM_LAST, FROM_ZERO
  input  logic [47:0] row_i,
  input  logic        last_en_i,             // two clocks later: sum_o is a row
  output logic [47:0] sum_o
);
  localparam logic [1:0] FromRow = 2'd0, FromSum = 2'd1, FromLast = 2'd2;
  logic [45:0] term, term_q;
  logic        carry, high, carry_q;
  logic [1:0]  flags, high_flags, flags_q;
  logic [47:0] base, sum, sum_q, last_q;

  fp_decode #(.Wide(Wide), .Half(Half)) u_decode (
    .byte_i, .next_i, .e_i, .fn_i, .max_i, .flip_i, .four_i, .half_i,
    .term_o(term), .carry_o(carry), .high_o(high), .flags_o(flags), .high_flags_o(high_flags));

  always_ff @(posedge clk_i)
    if (term_en_i) begin
      carry_q <= carry;
      flags_q <= high_flags;
    end

  assign base = from_i == FromRow ? row_i : from_i == FromSum ? sum_q : from_i == FromLast ? last_q : 48'd0;

  generate
    if (Wide != 0) begin : g_wide
      // Two more places in the chain: they pass the carry on, or (4 bits) end it and start the high half's.
      logic        high_q, unused;
      logic [48:0] left, right, total;       // bit 0 makes the carry in
      always_ff @(posedge clk_i)
        if (term_en_i) begin
          term_q <= term;
          high_q <= high;
        end
      assign left  = {term_q[45:31], sum_four_i & high_q, term_q[30:16], 1'b0, term_q[15:0], carry_q};
      assign right = {base[45:31], !sum_four_i | high_q, base[30:18], base[17:16] & ~({2{sum_four_i}} & term_q[17:16]),
                      !sum_four_i, base[15:0], carry_q};
      assign total = left - ~right;
      assign sum   = {base[47:46] | flags_q, total[48:34], total[32:18], total[16:1]};
      assign unused = ^{total[33], total[17], total[0], flags};
    end else begin : g_narrow
      // A byte's number has 32 bits; above them is the sign.
      logic [31:0] low_q;
      logic        fill_q, unused;
      always_ff @(posedge clk_i)
        if (term_en_i) {fill_q, low_q} <= term[32:0];
      assign term_q = {{14{fill_q}}, low_q};
      logic [46:0] total;                    // bit 0 makes the carry in
      assign total  = {term_q, carry_q} - ~{base[45:0], carry_q};
      assign sum    = {base[47:46] | flags_q, total[46:1]};
      assign unused = ^{term[45:33], high, flags, sum_four_i, total[0]};
    end
  endgenerate

  always_ff @(posedge clk_i) begin
    if (clip_i && sum[8]) sum_q <= 48'd0;
    else if (sum_en_i) sum_q <= sum;
    if (last_en_i) last_q <= sum_q;
  end
  assign sum_o = sum_q;
endmodule
