// power_of_two: stops elaboration, by naming a missing module, unless N is a power of two from
// Least to Most.
module power_of_two #(
  parameter int N = 1,
  parameter int Least = 1,
  parameter int Most = 1 << 30
);
  if ((N & (N - 1)) != 0) begin : g_refused
    parameter_must_be_a_power_of_two u_refused ();
  end
  if (N < Least) begin : g_small
    parameter_is_too_small u_refused ();
  end
  if (N > Most) begin : g_large
    parameter_is_too_large u_refused ();
  end
endmodule
