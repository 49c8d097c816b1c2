/** The address of an agent, and a token that gives access to it. */
interface AgentAddress {
  readonly url: string;
  readonly token: string;
}

/** Calls a JSON-RPC method of an agent over HTTP. Returns one result per line of the response. */
export async function rpc<T>(
  { url, token }: AgentAddress,
  method: string,
  params: object,
): Promise<readonly [T, ...T[]]> {
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const lines = (await response.text()).trimEnd().split('\n');
  const results = lines.map((line) => (JSON.parse(line) as { readonly result: T }).result);
  return results as unknown as readonly [T, ...T[]];
}
