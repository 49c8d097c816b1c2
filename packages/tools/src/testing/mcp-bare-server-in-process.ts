// A minimal MCP server that can send invalid messages, which no library would allow. Its two arguments
// are JSON texts, which it sends unchanged as the results of tools/list and tools/call. If one of them is
// missing, the server exits at that request.
import { createInterface } from 'node:readline';

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

const [, , list = '', result = ''] = process.argv;

function answer({ id, method, params }: Request): string | undefined {
  switch (method) {
    case 'initialize':
      return JSON.stringify({
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'bare', version: '1' },
      });
    case 'tools/list':
      return list;
    case 'tools/call':
      return result;
    default:
      return id === undefined ? undefined : '{}';
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line) as Request;
  const text = answer(request);
  if (text === '') process.stderr.write('I give up\n', () => process.exit(9));
  else if (text !== undefined) {
    process.stdout.write(`{"jsonrpc":"2.0","id":${request.id},"result":${text}}\n`);
  }
});
