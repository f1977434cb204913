// fate: decides a frame's outcome, its first failing check, as one bit of the counters.
// Combinational. A registered rank gets a NAK if its contribution is refused for its contents.
module fate (
  input  logic       job_ok_i,               // in the order of the checks
  input  logic       key_ok_i,
  input  logic       rank_ok_i,
  input  logic       source_ok_i,
  input  logic       slot_ok_i,
  input  logic       op_ok_i,
  input  logic       ping_i,
  input  logic       format_ok_i,
  input  logic       add_i,                  // slot_rule's verdict
  input  logic       resend_i,
  input  logic       bad_desc_i,
  input  logic       duplicate_i,
  input  logic       stale_i,
  output logic [nc_pkg::REG_COUNTERS-1:0] fate_o,  // one-hot
  output logic [7:0] nak_o,                  // reason; 0: none
  output logic       add_o,
  output logic       resend_o,
  output logic       pong_o
);
  always_comb begin
    {add_o, resend_o, pong_o} = '0;
    nak_o  = '0;
    fate_o = '0;
    if (!job_ok_i)         fate_o[nc_pkg::CNT_DROP_JOB] = 1'b1;
    else if (!key_ok_i)    fate_o[nc_pkg::CNT_DROP_KEY] = 1'b1;
    else if (!rank_ok_i)   fate_o[nc_pkg::CNT_DROP_RANK] = 1'b1;
    else if (!source_ok_i) fate_o[nc_pkg::CNT_DROP_SOURCE] = 1'b1;
    else if (!slot_ok_i)   {fate_o[nc_pkg::CNT_DROP_SLOT], nak_o} = {1'b1, nc_pkg::NAK_BAD_SLOT};
    else if (!op_ok_i)     {fate_o[nc_pkg::CNT_DROP_OP], nak_o} = {1'b1, nc_pkg::NAK_BAD_OP};
    else if (ping_i)       {fate_o[nc_pkg::CNT_IN_PING], pong_o} = 2'b11;
    else if (!format_ok_i)
      {fate_o[nc_pkg::CNT_DROP_FORMAT], nak_o} = {1'b1, nc_pkg::NAK_BAD_FORMAT};
    else if (bad_desc_i)   {fate_o[nc_pkg::CNT_DROP_DESC], nak_o} = {1'b1, nc_pkg::NAK_BAD_DESC};
    else if (duplicate_i)  fate_o[nc_pkg::CNT_DROP_DUPLICATE] = 1'b1;
    else if (resend_i)     {fate_o[nc_pkg::CNT_IN_RESENT], resend_o} = 2'b11;
    else if (stale_i)      fate_o[nc_pkg::CNT_DROP_STALE] = 1'b1;
    else                   {fate_o[nc_pkg::CNT_IN_ADDED], add_o} = {1'b1, add_i};
  end
endmodule
