// eth_guard: buffers each frame from the MAC until it is complete, and passes only correct frames
// for this card to LiteEth (README.md).
//  ARP: request or answer, Ethernet and IPv4, for our IP, to our MAC or broadcast, from no
//  multicast MAC; 60 bytes pass
//  IPv4 to our MAC and IP: 20-byte header with a correct checksum, no fragment, a source below
//  224.0.0.0, not shorter than the header says:
//    UDP: its length agrees with IP's, at least one byte of payload, checksum correct or 0 (none)
//    ICMP: an echo request with 1 to 128 bytes of payload and a correct checksum
//  Bytes after the IP packet are cut off, down to 60 bytes.
// Words of four bytes, the first in bits 7..0. in_error_i, with the last word: MAC error.
module eth_guard #(
  parameter int Words = 1024  // buffer, a power of two; 512 words are a frame of 2048 bytes
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [47:0] mac_i,
  input  logic [31:0] ip_i,
  input  logic [31:0] in_data_i,
  input  logic        in_last_i,
  /* verilator lint_off UNUSEDSIGNAL */     // bit 3 follows from the others
  input  logic [3:0]  in_last_be_i,          // with the last word: one-hot, its last byte
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic        in_error_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [31:0] out_data_o,
  output logic        out_last_o,
  output logic [3:0]  out_last_be_o,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  // A pulse per frame. Bit 0: passed, 1: MAC error, 2: not for this card, 3: malformed, 4: no room.
  output logic [4:0]  count_o
);
  localparam int AtW = 15;
  localparam bit [15:0] Least = 16'd60;      // fewest bytes of a passed frame
  localparam bit [15:0] MostEcho = 16'd156;  // of an IP packet with 128 bytes of echo

  // --- the word as two numbers, most significant byte first ---
  logic [15:0] a, b, sum_a, sum_b;
  logic        take;
  assign a    = {in_data_i[7:0], in_data_i[15:8]};
  assign b    = {in_data_i[23:16], in_data_i[31:24]};
  assign take = in_valid_i && in_ready_o;

  // --- position in the frame, and the packet's end ---
  logic [AtW-1:0] at_q;                      // index of this word; stops at all ones
  logic [15:0]    total_q;                   // IP's length
  logic [16:0]    end_at, have;              // bytes of the frame that count; exist
  logic [AtW-1:0] end_word;                  // of the last byte that counts
  logic [1:0]     end_byte, last_byte;       // place in a word: of that byte; of the frame's last
  logic           kept;                      // this word is not after end_word
  logic           arp_q, udp_q, icmp_q;
  assign end_at    = arp_q || total_q < Least - 16'd14 ? 17'(Least) : 17'(total_q) + 17'd14;
  assign end_word  = AtW'((end_at - 17'd1) >> 2);
  assign end_byte  = 2'(end_at - 17'd1);
  assign last_byte = in_last_be_i[0] ? 2'd0 : in_last_be_i[1] ? 2'd1
                     : in_last_be_i[2] ? 2'd2 : 2'd3;
  assign have      = {at_q, last_byte} + 17'd1;
  assign kept      = at_q < AtW'(5) || at_q <= end_word;

  // --- ones' complement sums of 16-bit numbers: 0xffff is correct ---
  logic [17:0] ip_sum_q, l4_sum_q;
  logic [16:0] ip_end;                       // IP's sum with its carries added
  logic [16:0] packet_end;                   // in the frame, bytes
  logic [15:0] l4_bytes;
  logic        ip_right, l4_right, no_sum_q;
  assign l4_bytes   = total_q - 16'd20;
  assign packet_end = 17'(total_q) + 17'd14;
  assign ip_end     = 17'(ip_sum_q[15:0]) + 17'(ip_sum_q[17:16]);
  assign ip_right   = ip_end == 17'h0ffff;
  assign l4_right   = 17'(l4_sum_q[15:0]) + 17'(l4_sum_q[17:16]) == 17'h0ffff;

  logic [16:0] byte_at;
  assign byte_at = {at_q, 2'd0};
  always_comb begin
    sum_a = a;
    sum_b = b;
    if (byte_at + 17'd3 >= packet_end) sum_b[7:0]  = '0;
    if (byte_at + 17'd2 >= packet_end) sum_b[15:8] = '0;
    if (byte_at + 17'd1 >= packet_end) sum_a[7:0]  = '0;
    if (byte_at >= packet_end)         sum_a[15:8] = '0;
  end

  function automatic logic [17:0] add(
    input logic [17:0] sum, input logic [15:0] x, input logic [15:0] y);
    add = 18'(sum[15:0]) + 18'(sum[17:16]) + 18'(x) + 18'(y);
  endfunction

  // --- verdicts: not for this card; malformed ---
  logic us_q, all_q, other_q, other_d, wrong_q, wrong_d, arp_d, udp_d, icmp_d;
  always_comb begin
    other_d = at_q != '0 && other_q;
    wrong_d = at_q != '0 && wrong_q;
    arp_d   = arp_q;
    udp_d   = udp_q;
    icmp_d  = icmp_q;
    unique case (at_q)
      AtW'(0): {arp_d, udp_d, icmp_d} = '0;
      AtW'(1): if (!(us_q && a == mac_i[15:0]) && !(all_q && a == 16'hffff)) other_d = 1'b1;
      AtW'(3): begin
        arp_d = a == 16'h0806;
        if (!arp_d && !(a == 16'h0800 && us_q)) other_d = 1'b1;
        if (arp_d ? b != 16'd1 : b[15:8] != 8'h45) wrong_d = 1'b1;
      end
      AtW'(4): if (arp_q ? {a, b} != 32'h0800_0604 : a < 16'd29) wrong_d = 1'b1;
      AtW'(5): begin
        udp_d  = !arp_q && b[7:0] == 8'd17;
        icmp_d = !arp_q && b[7:0] == 8'd1;
        if (!arp_q && !udp_d && !icmp_d) other_d = 1'b1;
        if (arp_q ? (a != 16'd1 && a != 16'd2) || b[8] : (a & 16'hbfff) != '0) wrong_d = 1'b1;
      end
      AtW'(6): if (!arp_q && b[15:13] == 3'd7) wrong_d = 1'b1;
      AtW'(7): if (!arp_q && b != ip_i[31:16]) other_d = 1'b1;
      AtW'(8): begin
        if (!arp_q && a != ip_i[15:0]) other_d = 1'b1;
        if (icmp_q && b != 16'h0800) wrong_d = 1'b1;
      end
      AtW'(9): begin
        if (arp_q && b != ip_i[31:16]) other_d = 1'b1;
        if (!arp_q && !ip_right) wrong_d = 1'b1;
        if (udp_q && b != l4_bytes) wrong_d = 1'b1;
        if (icmp_q && total_q > MostEcho) wrong_d = 1'b1;
      end
      AtW'(10): if (arp_q && a != ip_i[15:0]) other_d = 1'b1;
      default: ;
    endcase
    if (in_last_i && (at_q < AtW'(10) || have < end_at)) wrong_d = 1'b1;
  end

  logic end_q, error_q, full;
  always_ff @(posedge clk_i) begin
    if (take) begin
      at_q    <= in_last_i ? '0 : &at_q ? at_q : at_q + 1'b1;
      other_q <= other_d;
      wrong_q <= wrong_d;
      {arp_q, udp_q, icmp_q} <= {arp_d, udp_d, icmp_d};
      error_q <= in_error_i;
      if (at_q == AtW'(0)) {us_q, all_q} <= {{a, b} == mac_i[47:16], &in_data_i};
      if (at_q == AtW'(1)) us_q <= us_q && a == mac_i[15:0];
      if (at_q == AtW'(4)) total_q <= a;
      if (at_q == AtW'(10)) no_sum_q <= udp_q && a == '0;
      ip_sum_q <= at_q == AtW'(3) ? 18'(b)
                  : at_q == AtW'(8) ? add(ip_sum_q, a, '0)
                  : at_q < AtW'(8) ? add(ip_sum_q, a, b)
                  : ip_sum_q;
      if (at_q == AtW'(6)) l4_sum_q <= udp_q ? add(18'd17, l4_bytes, b) : '0;
      else if (at_q == AtW'(7)) l4_sum_q <= udp_q ? add(l4_sum_q, a, b) : '0;
      else if (at_q == AtW'(8)) l4_sum_q <= add(l4_sum_q, udp_q ? a : '0, b);
      else l4_sum_q <= add(l4_sum_q, sum_a, sum_b);
    end
    end_q <= take && in_last_i;
    if (rst_i) begin
      at_q  <= '0;
      end_q <= 1'b0;
    end
  end

  logic good;
  assign in_ready_o = !end_q;
  assign good = end_q && !error_q && !other_q && !wrong_q && (arp_q || l4_right || no_sum_q);
  assign count_o = {5{end_q}}
                   & (error_q ? 5'b00010
                      : other_q ? 5'b00100
                      : !good ? 5'b01000
                      : full ? 5'b10000
                      : 5'b00001);

  logic [1:0] out_byte;
  frame_fifo #(.W(35), .Depth(Words)) u_kept (
    .clk_i, .rst_i,
    .in_data_i({in_data_i, at_q == end_word, end_byte}), .in_valid_i(take && kept),
    .in_end_i(end_q), .in_good_i(good), .full_o(full),
    .out_data_o({out_data_o, out_last_o, out_byte}), .out_valid_o, .out_ready_i);
  assign out_last_be_o = out_last_o ? 4'd1 << out_byte : '0;

`ifdef FORMAL
  // A passed frame meets all rules above except on checksums, as a copy of its first eleven
  // words shows. Its words up to end_word are put, only the last marked.
  logic           past_q = 1'b0, ends_q;
  logic [351:0]   words_q;
  // 16-bit numbers: h[16 * k +: 16] is bytes 2k and 2k + 1
  logic [335:0]   h;
  logic [AtW-1:0] puts_q, last_at_q, so_far;
  logic [1:0]     last_byte_q;
  logic [4:0]     seen;
  logic           mine, is_arp, fair;
  for (genvar k = 0; k < 21; k++) begin : gen_h
    assign h[16*k +: 16] = {words_q[16*k +: 8], words_q[16*k + 8 +: 8]};
  end
  assign so_far = !end_q ? at_q : &last_at_q ? last_at_q : last_at_q + 1'b1;
  assign seen   = so_far > AtW'(11) ? 5'd11 : 5'(so_far);
  assign mine   = {h[0 +: 16], h[16 +: 16], h[32 +: 16]} == mac_i;
  assign is_arp = h[96 +: 16] == 16'h0806;
  assign fair   = end_q || at_q != '0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (take) begin
      if (at_q < AtW'(11)) words_q[32 * at_q[3:0] +: 32] <= in_data_i;
      puts_q <= (at_q == '0 ? '0 : puts_q) + AtW'(kept);
      ends_q <= (at_q != '0 && ends_q) || (kept && at_q == end_word);
      {last_at_q, last_byte_q} <= {at_q, last_byte};
    end
    assume (rst_i == !past_q);
    if (past_q) assume ($stable({mac_i, ip_i}));
    if (in_valid_i && in_last_i)
      assume (in_last_be_i != '0 && (in_last_be_i & (in_last_be_i - 1'b1)) == '0);
    if (past_q) begin
      if (good) begin
        assert (mine || (is_arp && {h[0 +: 16], h[16 +: 16], h[32 +: 16]} == '1));
        if (is_arp) begin
          assert ({h[112 +: 16], h[128 +: 16], h[144 +: 16]} == 48'h0001_0800_0604
                  && (h[160 +: 16] == 16'd1 || h[160 +: 16] == 16'd2));
          assert (!h[184] && {h[304 +: 16], h[320 +: 16]} == ip_i && puts_q == AtW'(15));
        end else begin
          assert (h[96 +: 16] == 16'h0800 && h[120 +: 8] == 8'h45 && (h[160 +: 16] & 16'hbfff) == '0
                  && h[221 +: 3] != 3'd7);
          assert ({h[240 +: 16], h[256 +: 16]} == ip_i
                  && {last_at_q, last_byte_q} + 17'd1 >= 17'(h[128 +: 16]) + 17'd14);
          assert ((h[176 +: 8] == 8'd17 && h[304 +: 16] == h[128 +: 16] - 16'd20
                   && h[128 +: 16] > 16'd28)
                  || (h[176 +: 8] == 8'd1 && h[272 +: 16] == 16'h0800
                      && h[128 +: 16] > 16'd28 && h[128 +: 16] <= MostEcho));
          assert (17'({puts_q, 2'd0}) >= 17'(h[128 +: 16]) + 17'd14
                  && (puts_q == AtW'(15) || 17'({puts_q, 2'd0}) < 17'(h[128 +: 16]) + 17'd18));
        end
        assert (ends_q);
      end
      assert (!end_q || !take);
      if (end_q) assert (at_q == '0);
      if (fair && seen >= 5'd1) assert (all_q == &words_q[31:0]);
      if (at_q == AtW'(1))
        assert (us_q
                == (words_q[31:0] == {mac_i[23:16], mac_i[31:24], mac_i[39:32], mac_i[47:40]}));
      if (at_q >= AtW'(1) && at_q <= AtW'(3)) assert (!arp_q && !udp_q && !icmp_q);
      if (fair && seen >= 5'd2) assert (us_q == mine);
      if (fair && seen >= 5'd5) assert (total_q == h[128 +: 16]);
      if (fair && seen >= 5'd4) assert (arp_q == is_arp);
      if (fair && seen >= 5'd6)
        assert (udp_q == (!is_arp && h[176 +: 8] == 8'd17)
                && icmp_q == (!is_arp && h[176 +: 8] == 8'd1));
      if (fair && !other_q && !wrong_q) begin
        if (seen >= 5'd2) assert (mine || {h[0 +: 16], h[16 +: 16], h[32 +: 16]} == '1);
        if (seen >= 5'd4)
          assert (is_arp ? h[112 +: 16] == 16'd1
                  : h[96 +: 16] == 16'h0800 && mine && h[120 +: 8] == 8'h45);
        if (seen >= 5'd5)
          assert (is_arp ? {h[128 +: 16], h[144 +: 16]} == 32'h0800_0604 : h[128 +: 16] > 16'd28);
        if (seen >= 5'd6)
          assert (is_arp ? (h[160 +: 16] == 16'd1 || h[160 +: 16] == 16'd2) && !h[184]
                  : (h[160 +: 16] & 16'hbfff) == '0 && (udp_q || icmp_q));
        if (seen >= 5'd7) assert (is_arp || h[221 +: 3] != 3'd7);
        if (seen >= 5'd8) assert (is_arp || h[240 +: 16] == ip_i[31:16]);
        if (seen >= 5'd9)
          assert (is_arp || (h[256 +: 16] == ip_i[15:0] && (!icmp_q || h[272 +: 16] == 16'h0800)));
        if (seen >= 5'd10)
          assert (is_arp ? h[304 +: 16] == ip_i[31:16]
                  : (!udp_q || h[304 +: 16] == h[128 +: 16] - 16'd20)
                    && (!icmp_q || h[128 +: 16] <= MostEcho));
        if (seen >= 5'd11) assert (!is_arp || h[320 +: 16] == ip_i[15:0]);
      end
      if (at_q != '0 && at_q < AtW'(5)) assert (puts_q == at_q && !ends_q);
      if (at_q >= AtW'(5))
        assert (puts_q == (at_q <= end_word ? at_q : end_word + 1'b1)
                && ends_q == (at_q > end_word));
      if (end_q && !wrong_q) begin
        assert (last_at_q >= AtW'(10) && {last_at_q, last_byte_q} + 17'd1 >= end_at);
        assert (puts_q == end_word + 1'b1 && ends_q);
      end
    end
  end
`endif
endmodule
