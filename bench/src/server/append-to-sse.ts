import { delays } from './fan-out.ts';
import { startMillraceServer } from './servers.ts';
import { Viewers, type ViewersReport } from './viewers.ts';

const count = 100;
const appends = 200;

/** Measures the time from an append in the server's process until a viewer receives it. */
export async function compareAppendToSse(): Promise<void> {
  const our = await ourDelays();
  const theirs = await durableStreams();
  const other = theirs === undefined ? 'is not installed' : delays(theirs);
  const ratio = theirs === undefined ? '' : `: ${(theirs.p50 / our.p50).toFixed(1)} × ours`;
  console.log(
    `append to SSE with ${count} viewers, p50 and p99: ${delays(our)}; @durable-streams/server ${other}${ratio}`,
  );
}

async function ourDelays(): Promise<ViewersReport> {
  await using our = await startMillraceServer({});
  await using viewers = await Viewers.start(our.port, count);
  await viewers.connect(our.path, 'item_started');
  return await paced((chunk) => our.send(chunk), viewers);
}

interface TheirServer {
  readonly url: string;
  readonly store: {
    create(path: string, options: { readonly contentType: string }): unknown;
    append(path: string, data: Uint8Array): unknown;
  };
  start(): Promise<string>;
  stop(): Promise<void>;
}

/** Imports the package dynamically, so that all other sections run without it. */
async function durableStreams(): Promise<ViewersReport | undefined> {
  const name: string = '@durable-streams/server';
  const loaded = (await import(name).catch(() => undefined)) as
    | { readonly DurableStreamTestServer: new (options: object) => TheirServer }
    | undefined;
  if (loaded === undefined) return undefined;
  const server = new loaded.DurableStreamTestServer({ port: 0, compression: false });
  const { port } = new URL(await server.start());
  server.store.create('/bench', { contentType: 'text/plain' });
  server.store.append('/bench', Buffer.from('hello '));
  try {
    await using viewers = await Viewers.start(Number(port), count);
    await viewers.connect('/bench?offset=-1&live=sse', 'hello');
    const send = async (chunk: string) =>
      void (await server.store.append('/bench', Buffer.from(chunk)));
    return await paced(send, viewers);
  } finally {
    await server.stop();
  }
}

async function paced(
  send: (chunk: string) => Promise<void>,
  viewers: Viewers,
): Promise<ViewersReport> {
  const all = await viewers.expect('#last#', { isTimed: true, isFresh: true });
  for (let index = 1; index <= appends; index++) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    const time = (performance.timeOrigin + performance.now()).toFixed(4);
    await send(`@${time}@${index === appends ? '#last#' : ''} `);
  }
  return all();
}
