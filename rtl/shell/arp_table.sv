// arp_table: maps IP to MAC addresses, instead of LiteEth's table (README.md).
// Every lookup is answered at once. If the address is unknown, the frame is dropped, an ARP
// request is sent, and the protocol retransmits. An address is learnt from its answer to our
// request, or its own request to us; the first claim wins. If a request claims a known IP for
// another MAC, the entry only becomes unknown: the card asks for the IP again. A looked-up IP
// replaces an unknown entry, else the next in turn; a requesting host gets only an empty entry.
module arp_table #(
  parameter int Rows  = 16,                  // a power of two, 2 or more; clocks of a search
  parameter int Banks = 4,                   // searched in a clock; a power of two, 2 or more
  parameter int Heard = 8                    // for ARP packets
) (
  input  logic        clk_i,
  input  logic        rst_i,
  // lookup: valid until ready; then comes the answer
  input  logic [31:0] ask_ip_i,
  input  logic        ask_valid_i,
  output logic        ask_ready_o,
  output logic [47:0] answer_mac_o,
  output logic        answer_failed_o,
  output logic        answer_valid_o,
  input  logic        answer_ready_i,
  // ARP packets for us; lost without room: the requester repeats them
  input  logic [31:0] heard_ip_i,
  input  logic [47:0] heard_mac_i,
  input  logic        heard_request_i,       // 1: request, 0: answer
  input  logic        heard_valid_i,
  output logic [31:0] send_ip_o,
  output logic [47:0] send_mac_o,
  output logic        send_request_o,        // 1: request; 0: answer, to send_mac_o
  output logic        send_valid_o,
  input  logic        send_ready_i
);
  power_of_two #(.N(Rows), .Least(2)) u_rows ();
  power_of_two #(.N(Banks), .Least(2)) u_banks ();
  localparam int RowW = $clog2(Rows), BankW = $clog2(Banks), Width = 81;

  typedef enum logic [1:0] {Clear, Idle, Search, Act} state_e;
  state_e state_q, state_d;

  // --- an entry; IP 0: empty ---
  logic [RowW-1:0]  row_q;
  logic [BankW-1:0] hit_bank, free_bank, found_bank_q, free_bank_q, turn_bank_q;
  logic [RowW-1:0]  found_row_q, free_row_q, turn_row_q;
  logic [Banks-1:0] hit, vacant, write;
  logic [47:0]      hit_mac, found_mac_q;
  logic             hit_known, found_q, found_known_q, free_q;
  logic [Width-1:0] write_data;
  logic [RowW-1:0]  write_row;
  logic [Banks-1:0]    known_there;
  logic [Banks*48-1:0] mac_there;
  for (genvar i = 0; i < Banks; i++) begin : gen_bank
    (* ram_style = "distributed" *) logic [Width-1:0] ram [Rows];
    logic [Width-1:0] read;
    assign read           = ram[row_q];
    assign hit[i]         = read[79:48] == ip_q && ip_q != '0;
    assign vacant[i]      = !read[80] && (asks_q || read[79:48] == '0);
    assign known_there[i] = read[80];
    assign mac_there[48*i +: 48] = read[47:0];
    always_ff @(posedge clk_i) if (write[i]) ram[write_row] <= write_data;
  end
  always_comb begin
    {hit_bank, free_bank, hit_mac, hit_known} = '0;
    for (int i = Banks - 1; i >= 0; i--) begin
      if (hit[i])
        {hit_bank, hit_known, hit_mac} = {BankW'(i), known_there[i], mac_there[48*i +: 48]};
      if (vacant[i]) free_bank = BankW'(i);
    end
  end

  logic [31:0] ip_q;
  logic [47:0] mac_q;
  logic        asks_q, request_q;            // asks_q: for a frame, else a received ARP packet
  logic        heard, heard_request, take_heard;
  logic [31:0] heard_ip;
  logic [47:0] heard_mac;
  /* verilator lint_off UNUSEDSIGNAL */
  logic        heard_room;
  /* verilator lint_on UNUSEDSIGNAL */
  fifo #(.W(81), .Depth(Heard)) u_heard (
    .clk_i, .rst_i,
    .in_data_i({heard_request_i, heard_ip_i, heard_mac_i}), .in_valid_i(heard_valid_i),
    .in_ready_o(heard_room),
    .out_data_o({heard_request, heard_ip, heard_mac}), .out_valid_o(heard),
    .out_ready_i(take_heard));
  // A received request waits until the last answer has left. Requests and frames take turns.
  logic        asked, heard_last_q;
  assign asked      = ask_valid_i && !answer_valid_o;
  assign take_heard = state_q == Idle && !(send_valid_o && heard_request)
                      && !(asked && heard_last_q);
  logic        known, same, learn, doubt, place;
  assign known = found_q && found_known_q;
  assign same  = found_mac_q == mac_q;
  assign learn = !asks_q && !mac_q[40] && ip_q != '0
                 && (found_q ? !found_known_q : request_q && free_q);
  assign doubt = !asks_q && request_q && known && !same;
  assign place = asks_q && !found_q && ip_q != '0;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Clear:   if (row_q == RowW'(Rows - 1)) state_d = Idle;
      Idle:    if ((heard && take_heard) || asked) state_d = Search;
      Search:  if (row_q == RowW'(Rows - 1) || hit != '0) state_d = Act;
      default: state_d = Idle;
    endcase
  end

  logic [BankW-1:0] write_bank;
  always_comb begin
    write_row  = found_q ? found_row_q : free_q ? free_row_q : turn_row_q;
    write_bank = found_q ? found_bank_q : free_q ? free_bank_q : turn_bank_q;
    write_data = {learn, ip_q, mac_q};
    write      = '0;
    if (state_q == Act && (learn || doubt || place)) write[write_bank] = 1'b1;
    if (state_q == Clear) begin
      write      = '1;
      write_row  = row_q;
      write_data = '0;
    end
  end

  assign ask_ready_o = state_q == Act && asks_q;
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    row_q   <= state_q == Clear || state_q == Search ? row_q + 1'b1 : '0;
    if (state_q == Idle) begin
      {found_q, free_q} <= '0;
      asks_q            <= !(heard && take_heard);
      ip_q              <= heard && take_heard ? heard_ip : ask_ip_i;
      mac_q             <= heard_mac;
      request_q         <= heard_request;
      heard_last_q      <= heard && take_heard;
    end
    if (state_q == Search) begin
      if (hit != '0)
        {found_q, found_row_q, found_bank_q, found_known_q, found_mac_q} <=
            {1'b1, row_q, hit_bank, hit_known, hit_mac};
      if (vacant != '0 && !free_q) {free_q, free_row_q, free_bank_q} <= {1'b1, row_q, free_bank};
    end
    if (state_q == Act && place && !free_q)
      {turn_row_q, turn_bank_q} <= {turn_row_q, turn_bank_q} + 1'b1;

    if (answer_valid_o && answer_ready_i) answer_valid_o <= 1'b0;
    if (state_q == Act && asks_q) begin
      answer_valid_o  <= 1'b1;
      answer_failed_o <= !known;
      answer_mac_o    <= found_mac_q;
    end

    // Lost while the previous ARP packet waits: the next frame to that IP asks again.
    if (send_valid_o && send_ready_i) send_valid_o <= 1'b0;
    if (state_q == Act && !send_valid_o && (asks_q ? !known && ip_q != '0 : request_q)) begin
      send_valid_o   <= 1'b1;
      send_request_o <= asks_q;
      send_ip_o      <= ip_q;
      send_mac_o     <= mac_q;
    end

    if (rst_i) begin
      state_q <= Clear;
      row_q   <= '0;
      {turn_row_q, turn_bank_q} <= '0;
      {answer_valid_o, send_valid_o} <= '0;
    end
  end

`ifdef FORMAL
  // No IP has two entries. A known entry stays, unless another MAC claims its IP, or a frame needs
  // its entry. An answered frame gets its IP's MAC.
  logic             past_q = 1'b0;
  (* anyconst *) logic [RowW-1:0]  a_row, b_row;
  (* anyconst *) logic [BankW-1:0] a_bank, b_bank;
  logic [Width-1:0] a, b, found;
  logic [Banks*Width-1:0] at_a, at_b, at_found;
  logic             apart;
  for (genvar i = 0; i < Banks; i++) begin : gen_look
    assign at_a[Width*i +: Width]     = gen_bank[i].ram[a_row];
    assign at_b[Width*i +: Width]     = gen_bank[i].ram[b_row];
    assign at_found[Width*i +: Width] = gen_bank[i].ram[found_row_q];
  end
  always_comb begin
    {a, b, found} = '0;
    for (int i = 0; i < Banks; i++) begin
      if (a_bank == BankW'(i)) a = at_a[Width*i +: Width];
      if (b_bank == BankW'(i)) b = at_b[Width*i +: Width];
      if (found_bank_q == BankW'(i)) found = at_found[Width*i +: Width];
    end
  end
  assign apart = {a_row, a_bank} != {b_row, b_bank};
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    assume (rst_i == !past_q);
    if (past_q && $past(ask_valid_i && !ask_ready_o && !rst_i))
      assume (ask_valid_i && $stable(ask_ip_i));
    if (past_q && state_q != Clear) begin
      if (apart && a[79:48] == b[79:48]) assert (a[79:48] == '0);
      if ($past(state_q != Clear && !rst_i && a[80]))
        assert ($past(doubt) ? $past(a[79:48] == ip_q) || a == $past(a)
                : a == $past(a) || $past(state_q == Act && place && !free_q));
      if (state_q == Act && asks_q && known) assert (found == {1'b1, ip_q, found_mac_q});
      if (state_q == Act && asks_q) assert (ip_q == ask_ip_i);
      if (state_q == Act && found_q) assert (found == {found_known_q, ip_q, found_mac_q});
      if (state_q == Act && !found_q && ip_q != '0) assert (a[79:48] != ip_q);
      if (state_q == Search && a_row < row_q && ip_q != '0) assert (a[79:48] != ip_q);
      if (state_q == Search) assert (!found_q);
      if ((state_q == Search || state_q == Act) && free_q
          && {a_row, a_bank} == {free_row_q, free_bank_q})
        assert (!a[80] && (asks_q || a[79:48] == '0));
      if (state_q == Search && free_q) assert (free_row_q < row_q);
      if (state_q == Search && asks_q) assert (ask_valid_i && ask_ip_i == ip_q);
      if (a[79:48] == '0) assert (!a[80]);
    end
    if (past_q && state_q == Clear && a_row < row_q) assert (a == '0);
    if (past_q && !(state_q == Clear || state_q == Search)) assert (row_q == '0 || state_q == Act);
  end
`endif
endmodule
