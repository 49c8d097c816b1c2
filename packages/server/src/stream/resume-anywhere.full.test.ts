import {
  type AgentEvent,
  countingIds,
  decodeBatch,
  decodeEvent,
  emptyState,
  Folder,
  sessionId,
  transcript,
} from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import { memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rebuild } from '../../../core/src/testing/rebuild.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import type { Update } from '../contract/message.ts';
import { byId, shownByAgentex } from '../testing/agentex-client.ts';
import { shownByUi } from '../testing/ai-sdk-client.ts';
import { CuttingProxy, readThroughCuts } from '../testing/cutting-proxy.ts';
import { appendBatches, recordedRun, userMessage } from '../testing/recorded-run.ts';
import { startStreamServer } from '../testing/servers/stream-server.ts';
import type { SseMessage } from '../testing/sse-reader.ts';

const session = sessionId('recorded');

const ids = countingIds();

/** The last message marks the end for views that have no end frame. */
const recorded = [...recordedRun(2, ids), userMessage(ids, 'the end')];

interface Screen {
  add(message: SseMessage): void;
  restart(): void;
  /** Returns the shown content, possibly as a promise. */
  shown(): unknown;
}

function foldingScreen(): Screen {
  let folder = new Folder(emptyState(session));
  return {
    add: ({ event, data }) => {
      if (event !== 'message') return;
      expect(folder.addBatch(decodeBatch(data)).outcome).not.toBe('gap');
    },
    restart: () => {
      folder = new Folder(emptyState(session));
    },
    shown: () => transcript(folder.state),
  };
}

function eventScreen(): Screen {
  let events: AgentEvent[] = [];
  return {
    add: ({ event, data }) => {
      if (event === 'message') events.push(decodeEvent(data));
    },
    restart: () => {
      events = [];
    },
    shown: () => rebuild(events),
  };
}

/** Shows updates with the client of Agentex. */
function updateScreen(): Screen {
  let updates: Update[] = [];
  return {
    add: ({ data }) => {
      const update = JSON.parse(data) as Update | { readonly type: 'connected' };
      if (update.type !== 'connected') updates.push(update);
    },
    restart: () => {
      updates = [];
    },
    shown: () => byId(shownByAgentex(updates).messages),
  };
}

/** Shows UI chunks with the reader of the AI SDK. */
function uiScreen(): Screen {
  let frames: Frame[] = [];
  return {
    add: ({ data }) => void frames.push({ data }),
    restart: () => {
      frames = [];
    },
    shown: () => shownByUi(frames),
  };
}

const screens = {
  ...{ records: foldingScreen, events: eventScreen },
  ...{ updates: updateScreen, ui: uiScreen },
} as const;

const isEnd = ({ event, data }: SseMessage) =>
  event === 'end' || data === '[DONE]' || data.includes('"the end"');
/** These views do not have a frame for every record. */
const isSparse = (path: string) => /view=(?:updates|ui)/.test(path);

/** Serves a closed session, because the streams of a closed session end. */
async function serveRecorded(limits = {}) {
  const log = memoryLog({ clock: new TestClock() });
  await appendBatches(log, session, recorded, { isClosed: true });
  const server = await startStreamServer({ log, limits });
  const proxy = await CuttingProxy.before(server.port);
  const whole = transcript(await snapshot(log, session));
  return {
    log,
    proxy,
    whole,
    async [Symbol.asyncDispose]() {
      await proxy.close();
      await server[Symbol.asyncDispose]();
      await log.close();
    },
  };
}

describe.each([
  ['records', 'everything', '&from=0'],
  ['records', 'what there is', ''],
  ['events', 'everything', '&from=0'],
  ['events', 'what there is', ''],
  ['updates', 'everything', '&from=0'],
  ['ui', 'everything', '&from=0'],
] as const)('law 5 over sockets, %s, %s', (view, _, from) => {
  const path = `/recorded?view=${view}${from}`;

  test('cut at any byte and resumed, it equals the uncut stream', async () => {
    await using served = await serveRecorded();
    const { proxy, whole } = served;
    const uncut = screens[view]();
    await readThroughCuts({ proxy, path, cuts: [], isEnd, onMessage: uncut.add });
    if (!isSparse(path)) expect(uncut.shown()).toEqual(whole);
    const shown = await uncut.shown();
    const bytes = proxy.passed.at(-1) ?? 0;
    const cut = fc.integer({ min: 0, max: bytes });
    await fc.assert(
      fc.asyncProperty(fc.array(cut, { minLength: 1, maxLength: 3 }), async (cuts) => {
        const screen = screens[view]();
        const { restart: onRestart, add: onMessage } = screen;
        await readThroughCuts({ proxy, path, cuts, isEnd, onRestart, onMessage });
        expect(await screen.shown()).toEqual(shown);
      }),
      { numRuns: runs(250) },
    );
  });

  test('cut while it is written, it equals the uncut stream', async () => {
    const cuts = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 12 });
    const stored = fc.constantFrom(0, 500, 2 ** 18);
    const uncut = screens[view]();
    await using served = await serveRecorded();
    await readThroughCuts({ proxy: served.proxy, path, cuts: [], isEnd, onMessage: uncut.add });
    await fc.assert(
      fc.asyncProperty(cuts, stored, async (afterBytes, ringBytes) => {
        const screen = screens[view]();
        await readWhileWritten({ path, cuts: afterBytes, ringBytes, screen });
        expect(await screen.shown()).toEqual(await uncut.shown());
      }),
      { numRuns: runs(20) },
    );
  });
});

interface WhileWritten {
  readonly path: string;
  readonly cuts: readonly number[];
  readonly ringBytes: number;
  readonly screen: Screen;
}

/**
 * The writer continues when the reader has received everything so far. The reader is therefore cut and
 * reconnects between two writes.
 */
async function readWhileWritten({ path, cuts, ringBytes, screen }: WhileWritten): Promise<void> {
  const log = memoryLog({ clock: new TestClock() });
  await (await log.open(session)).release();
  await using server = await startStreamServer({ log, limits: { ringBytes, mergeMs: 1 } });
  const proxy = await CuttingProxy.before(server.port);
  let reached = 0;
  let wake: (() => void) | undefined;
  const onMessage = (message: SseMessage) => {
    screen.add(message);
    reached = Math.max(reached, Number.parseInt(message.id ?? '0', 10));
    wake?.();
  };
  const reading = readThroughCuts({
    proxy,
    path,
    cuts,
    isEnd,
    onRestart: screen.restart,
    onMessage,
  });
  // Some records have no frame in some views. If no frame arrives, the writer continues too.
  const between = async () => {
    const { through = 0 } = (await log.info(session)) ?? {};
    const isSent = isSparse(path) ? reached > 0 : reached >= through;
    if (!isSent) {
      await new Promise<void>((resolve) => {
        wake = () => reached >= through && resolve();
        if (isSparse(path)) setImmediate(resolve);
      });
    }
  };
  await appendBatches(log, session, recorded, { isClosed: true, between });
  await reading;
  await proxy.close();
  await log.close();
}
