// power_of_two: no hardware, a check: unless N is a power of two the design is not elaborated, and the tool names a module that there is not.
module power_of_two #(
  parameter int N = 1
);
  if (N < 1 || (N & (N - 1)) != 0) begin : g_refused
    parameter_must_be_a_power_of_two u_refused ();
  end
endmodule
