import { Server, type Tool } from '@modelcontextprotocol/server';
import { type TestToolContext, testTools } from './mcp-test-tools.ts';

export interface TestServerOptions {
  readonly note?: TestToolContext['note'];
  /** Names of additional tools that do nothing. */
  readonly extra?: readonly string[];
  readonly pageSize?: number;
  /** True if each page of the tool list has a next page. */
  readonly isEndless?: boolean;
}

/** The tool list, shared by all connections of one server. */
export class TestToolList {
  readonly #extra: readonly string[];
  #isChanged = false;

  constructor(extra: readonly string[] = []) {
    this.#extra = extra;
  }

  change(): void {
    this.#isChanged = !this.#isChanged;
  }

  get tools(): readonly Tool[] {
    const names = [...Object.keys(testTools), ...this.#extra, ...(this.#isChanged ? ['new'] : [])];
    return names.map((name) => ({
      name,
      inputSchema: {
        type: 'object',
        ...(name === 'verbose' ? { title: 'x'.repeat(200_000) } : {}),
      },
      ...testTools[name]?.definition,
    }));
  }
}

/** Creates an SDK server with a tool for each situation that can occur in a call. */
export function testServer(list: TestToolList, options: TestServerOptions = {}): Server {
  const { note = () => {}, pageSize = 1_000, isEndless = false } = options;
  const server = new Server(
    { name: 'test', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Be gentle.' },
  );
  server.setRequestHandler('tools/list', ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const next = from + pageSize;
    const hasMore = isEndless || next < list.tools.length;
    const page = isEndless ? list.tools.slice(0, 1) : list.tools.slice(from, next);
    return { tools: [...page], ...(hasMore ? { nextCursor: String(next) } : {}) };
  });
  server.setRequestHandler('tools/call', async ({ params }, call) => {
    const tool = testTools[params.name];
    if (tool === undefined) throw new Error(`no tool ${params.name}`);
    const changeList = async () => {
      list.change();
      await server.sendToolListChanged();
    };
    return tool.run(params.arguments ?? {}, { call, note, changeList });
  });
  return server;
}
