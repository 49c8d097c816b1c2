import { spawn } from 'node:child_process';
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';

/** The functions that the tools of the test server can use. */
export interface TestToolContext {
  readonly call: ServerContext;
  /** Sends a note to the test, apart from any response. */
  note(word: string): void;
  /** Adds a tool to the list, or removes it again. */
  changeList(): Promise<void>;
}

type Arguments = Readonly<Record<string, unknown>>;

interface TestTool {
  readonly definition?: Partial<Tool>;
  run(given: Arguments, context: TestToolContext): Promise<CallToolResult> | CallToolResult;
}

const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
const never = new Promise<never>(() => {});
/** A GIF image with one pixel. */
export const pixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

function progress(context: TestToolContext, done: number, total?: number, message?: string) {
  const progressToken = context.call.mcpReq._meta?.progressToken ?? 'none';
  const params = { progressToken, progress: done, total, message };
  return context.call.mcpReq.notify({ method: 'notifications/progress', params });
}

export const testTools: Readonly<Record<string, TestTool>> = {
  echo: {
    definition: {
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    },
    run: ({ text }) => textResult(String(text)),
  },
  read: {
    definition: { title: 'Read it', annotations: { readOnlyHint: true } },
    run: () => textResult('read'),
  },
  set: { definition: { annotations: { idempotentHint: true } }, run: () => textResult('set') },
  add: {
    // The result does not match the declared output schema, as with some servers.
    definition: { outputSchema: { type: 'object', properties: { sum: { type: 'string' } } } },
    run: ({ a, b }) => ({ content: [], structuredContent: { sum: Number(a) + Number(b) } }),
  },
  meta: { run: (_given, { call }) => textResult(JSON.stringify(call.mcpReq._meta)) },
  fail: { run: () => ({ ...textResult('no such row'), isError: true }) },
  fail_mutely: { run: () => ({ content: [], isError: true }) },
  throw: {
    run: ({ words = 'thrown' }) => {
      throw new Error(String(words));
    },
  },
  count: {
    run: async ({ to, silent }, context) => {
      for (let at = 1; at <= Number(to); at++) {
        await progress(context, at, Number(to), silent === true ? undefined : `step ${at}`);
      }
      return textResult('counted');
    },
  },
  wait: {
    run: async (_, context) => {
      const { signal } = context.call.mcpReq;
      signal.addEventListener('abort', () => context.note('cancelled'));
      await progress(context, 0, undefined, 'waiting');
      return never;
    },
  },
  drip: {
    run: async (_, context) => {
      context.call.mcpReq.signal.addEventListener('abort', () => context.note('cancelled'));
      for (let at = 1; !context.call.mcpReq.signal.aborted; at++) {
        await progress(context, at);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return never;
    },
  },
  mute: { run: () => never },
  die: {
    run: ({ words }) => {
      if (words !== undefined) process.stderr.write(`${words}\n`);
      process.kill(process.pid, 'SIGKILL');
      return never;
    },
  },
  exit: {
    run: ({ words }) => {
      process.stderr.write(`${words}\n`, () => process.exit(3));
      return never;
    },
  },
  pid: { run: () => textResult(String(process.pid)) },
  child: {
    run: () => textResult(String(spawn('sleep', ['1000'], { stdio: 'inherit' }).pid)),
  },
  environment: { run: () => textResult(JSON.stringify(process.env)) },
  folder: { run: () => textResult(process.cwd()) },
  huge: { run: ({ length }) => textResult('x'.repeat(Number(length))) },
  huge_value: {
    run: ({ length }) => ({
      ...textResult('see'),
      structuredContent: { x: 'x'.repeat(Number(length)) },
    }),
  },
  pictures: {
    run: ({ count = 1 }) => ({
      content: Array.from({ length: Number(count) }, () => ({
        type: 'image' as const,
        data: pixel,
        mimeType: 'image/gif',
      })),
    }),
  },
  everything: {
    run: () => ({
      content: [
        { type: 'text', text: 'first' },
        { type: 'image', data: pixel, mimeType: 'image/gif' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'note://a/b.txt', text: 'inline' } },
        {
          type: 'resource',
          resource: {
            uri: 'file:///x/report.pdf?v=1',
            blob: 'JVBERg==',
            mimeType: 'application/pdf',
          },
        },
        { type: 'resource_link', uri: 'file:///x/y.csv', name: 'y', mimeType: 'text/csv' },
        { type: 'text', text: 'last' },
      ],
    }),
  },
  // The checks of the SDK server would reject invalid content, so the transport inserts it.
  strange: { run: () => textResult('<strange>') },
  ask_back: {
    run: async ({ method, properties = {} }, { call }) => {
      const params = { message: 'Sure?', requestedSchema: { type: 'object', properties } };
      const request = { method: String(method), params };
      const failed = (error: unknown) => textResult(String(error));
      const schema = {
        '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
      } as const;
      return call.mcpReq
        .send(request, schema)
        .then((answer) => textResult(JSON.stringify(answer)), failed);
    },
  },
  ask_url: {
    run: async ({ url }, { call }) => {
      const params = { mode: 'url', message: 'Pay here', url: String(url), elicitationId: '1' };
      const schema = {
        '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
      } as const;
      return call.mcpReq.send({ method: 'elicitation/create', params }, schema).then(
        (answer) => textResult(JSON.stringify(answer)),
        (error) => textResult(String(error)),
      );
    },
  },
  change: {
    run: async (_, context) => {
      await context.changeList();
      return textResult('changed');
    },
  },
};
