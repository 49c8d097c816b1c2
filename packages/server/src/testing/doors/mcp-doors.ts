import type { JsonObject } from '@millrace/core';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SseParser } from '../sse-reader.ts';
import type { Door, DoorAddress, Line, ShownRun } from './door.ts';

// Doors for clients of MCP before 2026-07-28, which resume the stream of a call with `Last-Event-ID`. A call of a
// later version is resumed as a task, without a stream.

interface CallResult {
  readonly structuredContent?: { readonly answer?: string; readonly session_id?: string };
}

/** The result of a call of an agent has its last text. The progress has all texts, calls and results. */
function shownRun(result: CallResult, progress: string): ShownRun {
  const { answer = '', session_id: session } = result.structuredContent ?? {};
  const text: Line = `text: ${answer}`;
  return { session, lines: [text], progress: progress.replaceAll(/\s/g, '') };
}

const params = (version: string) => ({
  ...{ protocolVersion: version, capabilities: {} },
  clientInfo: { name: 'test', version: '1.0.0' },
});

/** A client of a few lines, whose connections can be cut at any byte. */
const plainDoor =
  (version: string): Door =>
  async ({ cut, direct }) => {
    const accept = { accept: 'application/json, text/event-stream', connection: 'close' };
    const type = { ...accept, 'content-type': 'application/json' };
    const post = (origin: string, headers: Record<string, string>, message: JsonObject) =>
      fetch(`${origin}/mcp`, { method: 'POST', headers, body: JSON.stringify(message) });
    const opened = await post(await direct(), type, {
      ...{ jsonrpc: '2.0', id: 0, method: 'initialize', params: params(version) },
    });
    const own = {
      'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': version,
    };
    const call = { name: 'helper', arguments: { message: 'Time?' }, _meta: { progressToken: 'p' } };
    let [last, progress] = ['', ''];
    for (;;) {
      const parser = new SseParser();
      try {
        // A client without the id of an event does not know the run, so it calls the tool again.
        const reply =
          last === ''
            ? await post(
                cut,
                { ...type, ...own },
                { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
              )
            : await fetch(`${cut}/mcp`, { headers: { ...accept, ...own, 'last-event-id': last } });
        const decoder = new TextDecoder();
        for await (const chunk of reply.body ?? [])
          for (const { data } of parser.add(decoder.decode(chunk, { stream: true }))) {
            last = parser.lastId ?? last;
            if (data === '') continue;
            const message = JSON.parse(data) as {
              readonly result?: CallResult;
              readonly params?: { readonly message?: string };
            };
            progress += message.params?.message ?? '';
            if (message.result !== undefined) return shownRun(message.result, progress);
          }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
  };

/** The official client resumes by itself, from the first event on. Before it, a call ends with an error. */
const officialDoor: Door = async (at) => {
  const client = await connect(at);
  try {
    let progress = '';
    const onprogress = ({ message = '' }: { readonly message?: string }) => {
      at.onFirst?.();
      progress += message;
    };
    const call = { name: 'helper', arguments: { message: 'Time?' } };
    const result = await client.callTool(call, { onprogress, timeout: 2 ** 30 } as never);
    return shownRun(result as CallResult, progress);
  } finally {
    await client.close();
  }
};

async function connect({ cut, direct }: DoorAddress): Promise<Client> {
  const origin = await direct();
  let isOpen = false;
  const client = new Client({ name: 'test', version: '1.0.0' }, {
    versionNegotiation: { mode: 'legacy' },
    supportedProtocolVersions: ['2025-11-25'],
  } as never);
  const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), {
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('connection', 'close');
      const target = isOpen ? String(url).replace(origin, cut) : url;
      return fetch(target, { ...init, headers });
    },
    reconnectionOptions: {
      ...{ initialReconnectionDelay: 1, maxReconnectionDelay: 1 },
      ...{ reconnectionDelayGrowFactor: 1, maxRetries: 1_000 },
    },
  });
  await client.connect(transport);
  isOpen = true;
  return client;
}

/** The doors of MCP, by name. */
export const mcpDoors: Readonly<Record<string, Door>> = {
  'MCP 2025-11-25': plainDoor('2025-11-25'),
  'MCP 2025-06-18': plainDoor('2025-06-18'),
  'MCP with its official client': officialDoor,
};
