import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { liveTranscript, sessionId } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { askDaemon } from '../../../apps/cli/src/daemon/control-socket.ts';
import { type DaemonFiles, daemonFiles } from '../../../apps/cli/src/daemon/daemon-files.ts';
import { childEnv, patientMs } from '../../../packages/core/src/testing/runs.ts';
import {
  type ChildProgram,
  startProcess,
} from '../../../packages/log/src/testing/start-process.ts';
import { FaultReport } from '../faults.ts';
import { Randomness } from '../randomness.ts';
import { messagePattern, startSlowModel } from './slow-model.ts';
import type { TerminalAssignment, TerminalOrder, TerminalReport } from './terminal-process.ts';

interface HandoffOptions {
  readonly handoffs: number;
  readonly seed: number;
  readonly folder: string;
  readonly onRound?: ((words: string) => void) | undefined;
}

interface HandoffResult {
  readonly counts: Readonly<Record<string, number>>;
  readonly messages: number;
  /** The number of drivers that the sessions had, one after the other. */
  readonly drivers: number;
  readonly faults: FaultReport;
  readonly failures: readonly string[];
}

const sessions = ['first-session', 'second-session'];
const program = fileURLToPath(new URL('../../../apps/cli/src/main.ts', import.meta.url));
/** Maximum time until all messages are answered, in milliseconds. It prevents a run from hanging. */
const settleMs = patientMs(120_000);

/**
 * Hands runs over between terminals, a page and a daemon, and kills terminals and daemons at random moments.
 * Then it checks that each message is on the log once, has one answer, and that no command ran twice.
 */
export async function runHandoffs(options: HandoffOptions): Promise<HandoffResult> {
  const run = new HandoffRun(options);
  try {
    await run.start();
    while (run.handoffs < options.handoffs) await run.round();
    await run.settle();
    return await run.check();
  } finally {
    await run.stop();
  }
}

/** A process that behaves like a terminal with the chat. */
class Terminal {
  readonly #process: ChildProgram;
  readonly #waiting = new Set<(report: TerminalReport) => void>();
  readonly #ended: Promise<void>;

  constructor(assignment: TerminalAssignment, onEnd: (problem: string) => void) {
    this.#process = startProcess(new URL('terminal-process.ts', import.meta.url), {
      args: [JSON.stringify(assignment)],
      onMessage: (value) => {
        for (const listener of this.#waiting) listener(value as TerminalReport);
      },
    });
    this.#ended = this.#process.exit.then(({ code, signal, stderr }) => {
      if (signal !== 'SIGKILL') onEnd(`a terminal ended with ${code}: ${stderr.slice(-500)}`);
    });
  }

  send(order: TerminalOrder): void {
    this.#process.send(order);
  }

  /** Resolves with the next report that matches, or when the process has ended. */
  async next(isWanted: (report: TerminalReport) => boolean): Promise<void> {
    const found = Promise.withResolvers<void>();
    const listener = (report: TerminalReport) => {
      if (isWanted(report)) found.resolve();
    };
    this.#waiting.add(listener);
    await Promise.race([found.promise, this.#ended]);
    this.#waiting.delete(listener);
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }
}

/** Returns a list that repeats one action, so that a random choice takes this action more often than a kill. */
function often<Kind extends string>(kind: Kind): readonly [Kind, ...Kind[]] {
  return [kind, kind, kind, kind, kind, kind];
}

class HandoffRun {
  readonly #options: HandoffOptions;
  readonly #random: Randomness;
  readonly #counts: Record<string, number> = {};
  readonly #failures: string[] = [];
  /** The messages, with their session and whether a process has confirmed them. */
  readonly #messages = new Map<string, { readonly session: string; isConfirmed: boolean }>();
  /** The terminals that have a session open, and those that wait for one. */
  readonly #terminals = new Map<string, Terminal>();
  readonly #free: Terminal[] = [];
  readonly #holders = new Map<string, string>();
  readonly #cwd: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #files: DaemonFiles;
  #log: Log | undefined;
  #model: Awaited<ReturnType<typeof startSlowModel>> | undefined;
  #daemon: ChildProcess | undefined;
  #isOver = false;
  handoffs = 0;

  constructor(options: HandoffOptions) {
    this.#options = options;
    this.#random = new Randomness(options.seed);
    const home = join(options.folder, 'home');
    this.#cwd = join(options.folder, 'project');
    this.#env = { ...childEnv(), HOME: home, MILLRACE_MODEL: 'test' };
    mkdirSync(home);
    mkdirSync(this.#cwd);
    this.#files = daemonFiles({}, this.#env);
  }

  async start(): Promise<void> {
    this.#model = await startSlowModel(this.#random);
    const test = { provider: 'compatible', model: 'any', baseUrl: `${this.#model.url}/v1` };
    const config = {
      ...{ models: { test }, permissions: { mode: 'allow' }, sandbox: { profile: 'off' } },
    };
    const folder = join(this.#env['HOME'] ?? '', '.config');
    mkdirSync(folder);
    mkdirSync(join(folder, 'millrace'));
    writeFileSync(join(folder, 'millrace/config.json'), JSON.stringify(config));
    await this.#startDaemon();
    this.#log = sqliteLog({ path: this.#files.store });
    for (const session of sessions) {
      await this.#attach(session);
      this.#sendInTerminal(session);
    }
    void this.#watchDrivers();
  }

  /** Sends a message, and hands the session over while the answer arrives. */
  async round(): Promise<void> {
    const session = this.#random.oneOf(sessions as [string, ...string[]]);
    if (this.#terminals.has(session) && this.#random.oneIn(2)) this.#sendInTerminal(session);
    else await this.#sendOnPage(session);
    await setTimeout(this.#random.between(0, 400));
    const kind = this.#terminals.has(session)
      ? this.#random.oneOf([...often('background'), 'kill terminal', 'kill daemon'] as const)
      : this.#random.oneOf([...often('attach'), 'kill daemon'] as const);
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    this.handoffs++;
    if (kind === 'background') await this.#background(session);
    if (kind === 'attach') await this.#attach(session);
    if (kind === 'kill terminal') await this.#killTerminal(session);
    if (kind === 'kill daemon') await this.#killDaemon();
    this.#options.onRound?.(`${this.handoffs}: ${session}, ${kind}`);
  }

  /** Leaves all sessions to the daemon, and waits until every message has its answer. */
  async settle(): Promise<void> {
    for (const session of sessions) {
      if (this.#terminals.has(session)) await this.#background(session);
      // A message of the page is input for every session, so the daemon drives it from now on.
      await this.#sendOnPage(session);
    }
    for (let waited = 0; waited < settleMs; waited += 100) {
      const open = await Promise.all(sessions.map(async (id) => (await this.#info(id))?.hasWork));
      if (open.every((hasWork) => hasWork === false)) return;
      await setTimeout(100);
    }
    this.#failures.push('the sessions did not come to rest');
  }

  async check(): Promise<HandoffResult> {
    const faults = new FaultReport();
    let drivers = 0;
    for (const session of sessions) {
      drivers += (await this.#info(session))?.epoch ?? 0;
      const items = liveTranscript(await snapshot(this.#openLog, sessionId(session)));
      const namesOf = (kind: string) =>
        items
          .filter((item) => item.kind === kind)
          .flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'text' ? part.text : [])))
          .flatMap((text) => text.match(messagePattern) ?? []);
      const [stored, answered] = [namesOf('user'), namesOf('assistant')];
      for (const [name, { session: of, isConfirmed }] of this.#messages) {
        if (of !== session) continue;
        const times = (names: readonly string[]) => names.filter((one) => one === name).length;
        if (times(stored) > 1)
          faults.add('doubled', `${name} is ${times(stored)} times on the log`);
        if (times(stored) === 0 && isConfirmed) faults.add('lost', `${name} is not on the log`);
        if (times(stored) === 1 && times(answered) === 0)
          faults.add('lost', `${name} has no answer`);
        if (times(answered) > 1) faults.add('doubled', `${name} has ${times(answered)} answers`);
      }
      const unknown = stored.filter((name) => this.#messages.get(name)?.session !== session);
      for (const name of unknown) faults.add('invented', `${name} is in ${session}`);
    }
    for (const [name, count] of this.#effects())
      if (count > 1) faults.add('doubled', `the command of ${name} ran ${count} times`);
    const { size } = this.#messages;
    const result = { counts: this.#counts, messages: size, drivers, faults };
    return { ...result, failures: this.#failures };
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const terminal of [...this.#terminals.values(), ...this.#free]) await terminal.kill();
    this.#daemon?.kill('SIGKILL');
    await this.#log?.close();
    await this.#model?.close();
  }

  get #openLog(): Log {
    if (this.#log === undefined) throw new Error('The run has not started');
    return this.#log;
  }

  #info(session: string) {
    return this.#openLog.info(sessionId(session));
  }

  /** Returns how often the command of each message ran. */
  #effects(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    let text = '';
    try {
      text = readFileSync(join(this.#cwd, 'effects'), 'utf8');
    } catch {
      // No command has run.
    }
    for (const name of text.match(messagePattern) ?? [])
      counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  #newMessage(session: string): string {
    const name = `msg-${this.#messages.size + 1}`;
    this.#messages.set(name, { session, isConfirmed: false });
    return name;
  }

  #confirm(name: string): void {
    const message = this.#messages.get(name);
    if (message !== undefined) message.isConfirmed = true;
  }

  /** A message of a terminal counts only if it reached the log, because the terminal can be killed. */
  #sendInTerminal(session: string): void {
    const order: TerminalOrder = { send: this.#newMessage(session) };
    this.#terminals.get(session)?.send(order);
  }

  /** Sends a message as a page does, and repeats it with the same key until the daemon confirms it. */
  async #sendOnPage(session: string): Promise<void> {
    const name = this.#newMessage(session);
    const content = { type: 'text', author: 'user', content: name };
    for (let waited = 0; waited < settleMs; waited += 100) {
      const status = await this.#post(
        `/tasks/${session}/commands`,
        { type: 'message', content },
        name,
      );
      if (status === 202) return this.#confirm(name);
      if (status !== undefined && status < 500 && status !== 404) {
        this.#failures.push(`${name} was refused with ${status}`);
        return;
      }
      await setTimeout(100);
    }
    this.#failures.push(`${name} was not accepted`);
  }

  async #post(path: string, body: unknown, key: string): Promise<number | undefined> {
    try {
      const token = readFileSync(join(this.#files.folder, 'access/token'), 'utf8').trim();
      const { url } = JSON.parse(readFileSync(this.#files.state, 'utf8')) as { url: string };
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}${path}`, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { ...headers, 'idempotency-key': key },
      });
      await response.text();
      return response.status;
    } catch {
      // The daemon was killed.
      return undefined;
    }
  }

  /** Hands a session over to the daemon. In one of four cases, the terminal is killed during the hand-over. */
  async #background(session: string): Promise<void> {
    const terminal = this.#terminals.get(session);
    if (terminal === undefined) return;
    this.#terminals.delete(session);
    const order: TerminalOrder = { background: true };
    terminal.send(order);
    if (this.#random.oneIn(4)) {
      await setTimeout(this.#random.between(0, 300));
      return terminal.kill();
    }
    await terminal.next((report) => 'left' in report);
    this.#free.push(terminal);
  }

  async #killTerminal(session: string): Promise<void> {
    const terminal = this.#terminals.get(session);
    this.#terminals.delete(session);
    await terminal?.kill();
  }

  async #killDaemon(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon?.exitCode === null && daemon.signalCode === null) {
      daemon.kill('SIGKILL');
      await once(daemon, 'exit');
    }
    await this.#startDaemon();
  }

  async #startDaemon(): Promise<void> {
    const flags = ['--conditions=@millrace/source', program, 'serve', '--daemon'];
    const child = spawn(process.execPath, flags, {
      env: this.#env,
      cwd: this.#cwd,
      stdio: 'ignore',
    });
    this.#daemon = child;
    // The socket file of a killed daemon refuses connections until the new daemon listens.
    while (
      (await askDaemon(this.#files.socket, { type: 'hello' }).catch(() => undefined)) === undefined
    ) {
      if (child.exitCode !== null) throw new Error(`The daemon ended with ${child.exitCode}`);
      await setTimeout(50);
    }
  }

  async #attach(session: string): Promise<void> {
    const terminal = this.#free.pop() ?? this.#startTerminal();
    const order: TerminalOrder = { attach: session };
    terminal.send(order);
    await terminal.next((report) => 'attached' in report);
    this.#terminals.set(session, terminal);
  }

  #startTerminal(): Terminal {
    const assignment: TerminalAssignment = { cwd: this.#cwd, env: this.#env, program };
    const onEnd = (problem: string) => {
      if (!this.#isOver) this.#failures.push(problem);
    };
    return new Terminal(assignment, onEnd);
  }

  /** Checks again and again that each epoch of a session has one driver, and that epochs only grow. */
  async #watchDrivers(): Promise<void> {
    const last = new Map<string, number>();
    while (!this.#isOver) {
      for (const session of sessions) {
        const lease = (await this.#info(session).catch(() => undefined))?.lease;
        if (lease === undefined) continue;
        const key = `${session} ${lease.epoch}`;
        const known = this.#holders.get(key);
        if (known !== undefined && known !== lease.holder)
          this.#failures.push(`${key} has two drivers: ${known} and ${lease.holder}`);
        this.#holders.set(key, lease.holder);
        if (lease.epoch < (last.get(session) ?? 0)) this.#failures.push(`${key} is an old driver`);
        last.set(session, lease.epoch);
      }
      await setTimeout(5);
    }
  }
}
