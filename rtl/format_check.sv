// format_check: checks whether card and job allow a header's operation. The answer comes one clock
// after the header's fields, which must stay. The job's values count only in that second clock.
// A code of e5m10 takes 41 bits of the sum word, which leaves room for fewer ranks.
// `beats` counts the beats of the contribution or the result, whichever is wider. The other has
// as many, half or a quarter.
module format_check #(
  parameter int MaxBeats = nc_pkg::CARD_BEATS,
  parameter int Wide     = 1,
  parameter int Narrow   = 0,                // 1: adds only e1m6f and e2m5f
  localparam int RankW = $clog2(nc_pkg::PKT_MAX_RANKS)
) (
  input  logic        clk_i,
  input  logic        max_i,                 // 1: MAX, 0: SUM
  input  logic [7:0]  in_fmt_i,
  input  logic [7:0]  out_fmt_i,
  input  logic [7:0]  out_shift_i,
  input  logic [7:0]  beats_i,
  input  logic [15:0] len_i,                 // bytes of the frame
  input  logic        zeros_i,               // all must-be-zero fields are 0
  input  logic [RankW:0] ranks_i,            // of the job
  input  logic [15:0] allowed_i,             // the job's formats: in_fmt | out_fmt << 8; 0: any
  output logic        ok_o,
  output logic [7:0]  result_beats_o         // of the result's payload
);
  logic [1:0] in_w, out_w;
  code_width #(.Wide(Wide)) u_in (.fmt_i(in_fmt_i), .width_o(in_w));
  code_width #(.Wide(Wide)) u_out (.fmt_i(out_fmt_i), .width_o(out_w));

  // First clock: checks that need no other field.
  logic [1:0] in_w_q, out_w_q;
  logic       max_q, alone_ok_q;
  always_ff @(posedge clk_i) begin
    max_q      <= max_i;
    in_w_q     <= in_w;
    out_w_q    <= out_w;
    alone_ok_q <= zeros_i && beats_i != '0 && beats_i <= 8'(MaxBeats)
                  && (max_i ? {in_fmt_i, out_fmt_i, out_shift_i} == '0
                            : out_shift_i <= 8'(nc_pkg::PKT_MAX_SHIFT)
                              && (Narrow == 0 || (in_fmt_i[7] && in_fmt_i[6:4] <= 3'd2)));
  end

  // Second clock: both sides and the job.
  // log2 of a width ratio, or 0. up: result / contribution; down: contribution / result
  logic [1:0] up, down;
  logic [7:0] payload;
  logic       whole, formats, fits;
  always_comb begin
    up      = (!max_q && out_w_q > in_w_q) ? out_w_q - in_w_q : 2'd0;
    down    = (!max_q && in_w_q > out_w_q) ? in_w_q - out_w_q : 2'd0;
    payload = beats_i >> up;
    whole   = (payload << up) == beats_i && ((beats_i >> down) << down) == beats_i;
    result_beats_o = beats_i >> down;
    formats = max_q || (in_w_q != 2'd0 && out_w_q != 2'd0
                        && (allowed_i[7:0] == '0 || allowed_i[7:0] == in_fmt_i)
                        && (allowed_i[15:8] == '0 || allowed_i[15:8] == out_fmt_i)
                        && (in_w_q != 2'd3
                            || 32'(ranks_i) <= 32'd1 << (nc_pkg::CARD_SUM_BITS - 41)));
    fits    = len_i[15:6] - 10'd1 == 10'(payload) && len_i[5:0] == '0;  // payload settles last
    ok_o    = whole && formats && fits && alone_ok_q;
  end

`ifdef FORMAL
  // The proof counts the same way as hls/card/packet.def and hls/core/beat.h: bits of a code,
  // elements, bytes.
  function automatic logic [15:0] bits(input logic [7:0] fmt);  // 0: no format of this card
    bits = 16'd1 + 16'(fmt[6:4]) + 16'(fmt[3:0]);
    if (fmt[6:4] < 3'd1 || fmt[6:4] > 3'd5 || fmt[3:0] > 4'd10) bits = 16'd0;
    if (fmt[7] && fmt[6:4] == 3'd5) bits = 16'd0;
    if (bits != 16'd8 && (Wide == 0 || (bits != 16'd4 && bits != 16'd16))) bits = 16'd0;
  endfunction
  logic [15:0] in_bits, out_bits, wider, elements, in_bytes, out_bytes, one_bits, sum_bits;
  logic        legal, past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (past_q) begin
      assume ($stable({max_i, in_fmt_i, out_fmt_i, out_shift_i, beats_i, zeros_i}));
      assert (ok_o == legal);
      if (legal) assert (16'(result_beats_o) * 16'd64 == out_bytes);
    end
  end
  always_comb begin
    assume (ranks_i != '0);
    // mf_acc_bits()
    one_bits = (16'd1 << in_fmt_i[6:4]) - 16'd1 + 16'(in_fmt_i[3:0]) + 16'(in_fmt_i[7]);
    sum_bits = one_bits;
    for (int i = 0; i <= RankW; i++) if ((ranks_i - 1'b1) >> i != '0) sum_bits = sum_bits + 16'd1;
    in_bits   = max_i ? 16'd8 : bits(in_fmt_i);
    out_bits  = max_i ? 16'd8 : bits(out_fmt_i);
    wider     = in_bits > out_bits ? in_bits : out_bits;
    elements  = (wider == 16'd4 ? 16'd128 : wider == 16'd8 ? 16'd64 : 16'd32) * 16'(beats_i);
    in_bytes  = elements * (in_bits / 16'd4) / 16'd2;
    out_bytes = elements * (out_bits / 16'd4) / 16'd2;
    legal     = in_bits != 16'd0 && out_bits != 16'd0 && zeros_i && beats_i >= 8'd1
                && beats_i <= 8'(MaxBeats);
    if (in_bytes % 16'd64 != 16'd0 || out_bytes % 16'd64 != 16'd0 || len_i != in_bytes + 16'd64)
      legal = 1'b0;
    if (max_i && (in_fmt_i != 8'd0 || out_fmt_i != 8'd0 || out_shift_i != 8'd0)) legal = 1'b0;
    if (!max_i && out_shift_i > 8'(nc_pkg::PKT_MAX_SHIFT)) legal = 1'b0;
    if (!max_i && sum_bits > 16'(in_bits == 16'd4 ? nc_pkg::CARD_SUM4_BITS : nc_pkg::CARD_SUM_BITS))
      legal = 1'b0;
    if (!max_i && Narrow != 0                  // no flags, and room for all ranks
        && (!in_fmt_i[7] || one_bits + 16'(RankW) > 16'(nc_pkg::CARD_NARROW_BITS))) legal = 1'b0;
    if (!max_i && allowed_i[7:0] != 8'd0 && allowed_i[7:0] != in_fmt_i) legal = 1'b0;
    if (!max_i && allowed_i[15:8] != 8'd0 && allowed_i[15:8] != out_fmt_i) legal = 1'b0;
  end
`endif
endmodule
