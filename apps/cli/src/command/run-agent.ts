import { memoryLog } from '@millrace/log';
import { loadConfig } from '../config/load-config.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { ChatArgs, PrintArgs, RunArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import type { Store } from '../store/open-store.ts';
import { askForTrust } from './ask-user.ts';
import { chooseSession } from './choose-session.ts';
import { resolveWorkFolder } from './paths.ts';
import { hasTerminal, printInsteadOfChat } from './without-terminal.ts';

/** A chat, or one answer that is printed. */
export async function runAgent(args: ChatArgs | PrintArgs, host: Host): Promise<number> {
  if (args.command === 'chat' && hasTerminal(host)) return openChat(args, host);
  if (args.command === 'print') return printAnswer(args, host, false);
  const { args: instead, stdin, isDemo } = await printInsteadOfChat(args, host);
  return printAnswer(instead, { ...host, stdin }, isDemo);
}

async function printAnswer(args: PrintArgs, host: Host, isDemo: boolean): Promise<number> {
  const printing = import('../print/print-run.ts');
  printing.catch(() => {});
  const cwd = await resolveWorkFolder(args, host.cwd);
  const config = await loadConfig({ args, env: host.env, cwd });
  printWarnings(config, host);
  return withAgent({ args, config, host, cwd, approve: 'park', isDemo }, async (run) => {
    const { printRun } = await printing;
    const { stdin, stdout, stderr, env, signal } = host;
    return printRun({ args, ...run, stdin, stdout, stderr, env, cwd, signal, isKept: !isDemo });
  });
}

async function openChat(args: ChatArgs, host: Host): Promise<number> {
  const { env } = host;
  // React takes as long to load as all that is done meanwhile; that it fails is said when it is needed.
  const chatting = import('../chat/run-chat.ts');
  chatting.catch(() => {});
  const cwd = await resolveWorkFolder(args, host.cwd);
  const config = await trustedConfig(args, host, cwd);
  if (config === undefined) return exitCodes.aborted;
  printWarnings(config, host);
  return withAgent({ args, config, host, cwd, approve: 'wait', isDemo: false }, async (run) => {
    const session = await chooseSession(args.session, { ...run, cwd, host });
    if (session === undefined) return exitCodes.aborted;
    const { runChat } = await chatting;
    return runChat({ ...run, config, session, prompt: args.prompt, cwd, env, signal: host.signal });
  });
}

/** A project's file may want things that only a person can allow; undefined where they leave instead. */
async function trustedConfig(args: RunArgs, host: Host, cwd: string): Promise<Config | undefined> {
  const { env } = host;
  const config = await loadConfig({ args, env, cwd });
  const isTrusted = await askForTrust(config, host);
  if (isTrusted === undefined) return undefined;
  return isTrusted ? loadConfig({ args: { ...args, trust: true }, env, cwd }) : config;
}

function printWarnings({ warnings }: Config, { stderr }: Host): void {
  for (const warning of warnings) stderr.write(`${warning}\n`);
}

interface AgentSetup {
  readonly args: RunArgs;
  readonly config: Config;
  readonly host: Host;
  readonly cwd: string;
  readonly approve: 'wait' | 'park';
  /** One turn of the demo, of which nothing is kept. */
  readonly isDemo: boolean;
}

interface ReadyAgent extends Pick<Store, 'log'> {
  readonly built: BuiltAgent;
  readonly chosen: ChosenModel;
}

/** Opens all that a run needs, and closes it again, whatever happens. */
async function withAgent(
  { args, config, host, cwd, approve, isDemo }: AgentSetup,
  use: (ready: ReadyAgent) => Promise<number>,
): Promise<number> {
  const [{ chooseModel }, { buildAgent }, { openStore }, { startTracing }] = await Promise.all([
    import('../models/choose-model.ts'),
    import('../agent/build-agent.ts'),
    import('../store/open-store.ts'),
    import('./tracing.ts'),
  ]);
  const { env } = host;
  const choosing = isDemo ? openDemoModel(cwd, host) : chooseModel({ config, env, cwd });
  // Heard below, after the store was opened meanwhile.
  choosing.catch(() => {});
  await using opened = new AsyncDisposableStack();
  const { observers, close } = startTracing(args.otlp, host);
  opened.defer(close);
  const store = isDemo ? openMemoryStore() : await openStore({ config, env });
  opened.defer(() => store.close());
  const { log } = store;
  const chosen = await choosing;
  const { signal } = host;
  const built = await buildAgent({ config, chosen, log, cwd, approve, observers, signal });
  opened.defer(() => built.close());
  return await use({ log, built, chosen });
}

/** Where nobody watches, it need not speak as slowly as one reads. */
async function openDemoModel(cwd: string, { stdout }: Host): Promise<ChosenModel> {
  const { demoProvider } = await import('../demo/demo-provider.ts');
  const provider = demoProvider({ cwd, ...(stdout.isTTY ? {} : { pauseMs: 0 }) });
  const why = 'Nothing was said and there is no terminal, so the demo shows what it can do.';
  return { provider, label: 'demo', why, isDemo: true };
}

function openMemoryStore(): Pick<Store, 'log' | 'close'> {
  const log = memoryLog();
  return { log, close: () => log.close() };
}
