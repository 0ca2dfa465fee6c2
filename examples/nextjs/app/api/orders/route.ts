import { getLeasehold } from "../../../lib/leasehold";

// #region orders
export const POST = async (request: Request): Promise<Response> => {
  const { orderId } = (await request.json()) as { orderId: string };
  const leasehold = await getLeasehold();
  const { id } = await leasehold.startJobSequence({ typeName: "send-receipt", input: { orderId } });
  return Response.json({ id }, { status: 202 });
};
// #endregion

export const GET = async (request: Request): Promise<Response> => {
  const id = new URL(request.url).searchParams.get("id") ?? "";
  const leasehold = await getLeasehold();
  const sequence = await leasehold.waitForJobSequenceCompletion({ id, typeName: "send-receipt" });
  return Response.json({ output: sequence.output });
};
