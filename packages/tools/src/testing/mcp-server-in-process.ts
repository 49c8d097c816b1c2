// A program with an MCP server on its standard input and output. Its arguments control its behaviour.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { TestToolList, testServer } from './mcp-test-server.ts';

type JsonMessage = Parameters<StdioServerTransport['send']>[0];

const flags = new Map(
  process.argv.slice(2).map((flag) => {
    const [name = '', value = ''] = flag.replace(/^--/, '').split('=');
    return [name, value] as const;
  }),
);

/**
 * A transport that inserts invalid content into messages, because the checks of the SDK would not allow
 * it.
 */
class StrangeTransport extends StdioServerTransport {
  override send(message: JsonMessage): Promise<void> {
    const text = JSON.stringify(message).replace(
      '{"type":"text","text":"<strange>"}',
      '{"type":"text","text":"known"},{"type":"hologram","data":"?"},{"type":"text"},{"type":"image","data":7}',
    );
    return super.send(JSON.parse(text) as JsonMessage);
  }
}

const startLog = flags.get('starts');
const isFirst = startLog === undefined || !existsSync(startLog);
if (startLog !== undefined) appendFileSync(startLog, `${process.pid}\n`);

if (flags.has('dies') || (flags.has('once') && !isFirst)) {
  process.stderr.write(`cannot start: ${process.env['API_TOKEN'] ?? 'no token'}\n`, () =>
    process.exit(7),
  );
} else if (flags.has('mute')) {
  process.stdin.resume();
} else {
  await serve();
}

// The timer keeps the server running when its input ends.
if (flags.has('deaf') || flags.has('stubborn')) setInterval(() => {}, 1_000);
// The server also ignores SIGTERM.
if (flags.has('stubborn')) process.on('SIGTERM', () => {});

async function serve(): Promise<void> {
  const noteFile = flags.get('notes');
  const extraFile = flags.get('extra');
  const extra = extraFile === undefined ? [] : readFileSync(extraFile, 'utf8').split('\n');
  const list = new TestToolList(extra);
  const options = {
    note: (word: string) => noteFile !== undefined && appendFileSync(noteFile, `${word}\n`),
    pageSize: Number(flags.get('page') ?? 1_000),
    isEndless: flags.has('endless'),
  };
  // Some servers print text among the messages.
  if (flags.has('chatty')) process.stdout.write('Welcome!\n{"not": "a message"}\n\n');
  const transport = new StrangeTransport();
  if (!flags.has('modern')) await testServer(list, options).connect(transport);
  else serveStdio(() => testServer(list, options), { transport, legacy: 'reject' });
}
