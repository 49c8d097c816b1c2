import { decodeDraft, encodeBatch, isMillraceError, sessionId } from '@millrace/core';
import type { Driver } from '../../contract/log.ts';
import type { Producer } from '../../contract/producer.ts';
import { postgresLog } from '../../postgres/postgres-log.ts';
import { sqliteLog } from '../../sqlite/sqlite-log.ts';
import type { CallMessage, LogCalls, ProcessMessage, RemoteFailure } from '../remote-log.ts';
import { messagesFromParent, sendToParent } from '../start-process.ts';

// This program opens a log in its own process and executes the calls of a test. Usage: log-process.ts <file
// or Postgres URL> <options>.
type Answers = {
  readonly [Name in keyof LogCalls]: (
    ...args: Parameters<LogCalls[Name]>
  ) => Promise<ReturnType<LogCalls[Name]>>;
};

const [path = '', options = '{}'] = process.argv.slice(2);
const terms = JSON.parse(options) as object;
const log = path.startsWith('postgres:')
  ? postgresLog({ url: path, ...terms })
  : sqliteLog({ path, ...terms });
const wallTime = Date.now;
const drivers: Driver[] = [];
const producers: Producer[] = [];

const answers: Answers = {
  async open(session, { leaseMs, ...rest }) {
    // JSON has no Infinity, so null stands for a lease without expiry.
    const lease = leaseMs === null ? { leaseMs: Number.POSITIVE_INFINITY } : { leaseMs };
    const driver = await log.open(sessionId(session), { ...rest, ...lease });
    const number = drivers.push(driver) - 1;
    void driver.lost.then((error) =>
      send({ type: 'lost', driver: number, error: failureOf(error) }),
    );
    return { driver: number, epoch: driver.epoch };
  },
  append: async (driver, drafts) =>
    encodeBatch(await at(drivers, driver).append(drafts.map((draft) => decodeDraft(draft)))),
  admit: (driver, terms) => at(drivers, driver).admit(terms),
  release: async (driver) => {
    await at(drivers, driver).release();
    return null;
  },
  closeSession: async (driver) => encodeBatch(await at(drivers, driver).closeSession()),
  async produce(admission) {
    const producer = await log.produce(admission);
    const { epoch, turn, attempt } = producer;
    return { producer: producers.push(producer) - 1, epoch, turn, attempt };
  },
  produceDrafts: (producer, drafts, sequence) =>
    at(producers, producer).append(
      drafts.map((draft) => decodeDraft(draft)),
      sequence,
    ),
  submit: (session, command, key) => log.submit(sessionId(session), command, key),
  read: async (session, from) => encodeBatch(await log.read(sessionId(session), { from })),
  info: async (session) => (await log.info(sessionId(session))) ?? null,
  delete: (session) => log.delete(sessionId(session)),
  async follow(session, terms) {
    const batches = log.follow(sessionId(session), terms)[Symbol.asyncIterator]();
    // The first batch is requested before the answer is sent. When the test gets the answer, the follower
    // is active.
    const first = batches.next();
    pass(session, batches, first).then(
      () => send({ type: 'ended', session }),
      (error: unknown) => send({ type: 'ended', session, error: failureOf(error) }),
    );
    return null;
  },
  stepClock: async (ms) => {
    Date.now = () => wallTime() + ms;
    return null;
  },
  close: async () => {
    await log.close();
    return null;
  },
};

async function pass(
  session: string,
  batches: AsyncIterator<Parameters<typeof encodeBatch>[0]>,
  first: ReturnType<typeof batches.next>,
): Promise<void> {
  for (let next = await first; !next.done; next = await batches.next()) {
    const heardAt = performance.timeOrigin + performance.now();
    send({ type: 'batch', session, batch: encodeBatch(next.value), heardAt });
  }
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`There is no driver or producer with number ${index}`);
  return found;
}

function failureOf(error: unknown): RemoteFailure {
  if (isMillraceError(error)) {
    const { code, message, place } = error;
    return { code, message, place };
  }
  return { code: 'unknown', message: String(error), place: {} };
}

const send = (message: ProcessMessage): void => sendToParent(message);

function answer({ id, call, args }: CallMessage): Promise<void> {
  const run = answers[call] as (...given: typeof args) => Promise<unknown>;
  return run(...args).then(
    (value) => send({ type: 'answer', id, value }),
    (error: unknown) => send({ type: 'error', id, error: failureOf(error) }),
  );
}

send({ type: 'answer', id: 0, value: process.pid });
// Several calls may run at the same time, as in any process.
for await (const order of messagesFromParent<CallMessage>())
  answer(order).catch(() => process.exit(1));
await log.close();
