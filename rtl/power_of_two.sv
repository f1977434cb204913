// power_of_two: stops elaboration, by naming a missing module, unless N is a power of two.
module power_of_two #(
  parameter int N = 1
);
  if (N < 1 || (N & (N - 1)) != 0) begin : g_refused
    parameter_must_be_a_power_of_two u_refused ();
  end
endmodule
