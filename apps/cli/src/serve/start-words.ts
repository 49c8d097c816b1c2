import type { ServedAgent } from '@millrace/server';

export interface StartedServer {
  readonly url: string;
  readonly agents: readonly ServedAgent[];
  readonly data: string;
  readonly needsToken: boolean;
  /** The page that people have there; it comes with the package, and in a clone it has to be built. */
  readonly hasPage: boolean;
}

/** Where it is, what there is, and what to try. */
export function startWords({ url, agents, data, needsToken, hasPage }: StartedServer): string {
  const width = Math.max(...agents.map(({ name }) => name.length));
  const rows = agents.map(({ name, type, description = '' }) =>
    `  ${name.padEnd(width)}  ${type.padEnd('async'.length)}  ${description}`.trimEnd(),
  );
  const page = hasPage ? 'open it in a browser' : 'without its page: npm run serve builds it';
  return `Millrace listens on ${url} (${page}; ${url}/docs has the routes)
Agents:
${rows.join('\n')}
What is said is kept in ${data}

Try it:
${tries(url, agents, needsToken).join('\n')}

`;
}

/** One that answers, and one that shows what it says to whoever wants to know. */
function tries(
  url: string,
  agents: readonly ServedAgent[],
  needsToken: boolean,
): readonly string[] {
  const { name, type } = agents.find((agent) => agent.type !== 'async') ?? agents[0] ?? nobody;
  const auth = needsToken ? " -H 'authorization: Bearer …'" : '';
  const content = '"content":{"type":"text","author":"user","content":"Hello"}';
  const how = type === 'async' ? ['event/send', ''] : ['message/send', ',"stream":true'];
  const send = `{"method":"${how[0]}","params":{"task_name":"first",${content}${how[1]}}}`;
  const make = '{"method":"task/create","params":{"name":"first"}}';
  const post = (body: string) =>
    `  curl -N${auth} ${url}/agents/name/${name}/rpc -H 'content-type: application/json' -d '${body}'`;
  return [
    ...(type === 'async' ? [post(make)] : []),
    post(send),
    `  curl -N${auth} '${url}/tasks/name/first/stream?view=events'`,
  ];
}

const nobody = { name: '<name>', type: 'sync' } as const;
