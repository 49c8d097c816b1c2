import { memoryLog } from '@millrace/log';
import { fileCopiesFolder } from '../config/config-paths.ts';
import { loadConfig } from '../config/load-config.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { ChatArgs, PrintArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Extensions } from '../contract/extensions.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import type { FirstChoice } from '../first-contact/first-contact.ts';
import { hasVendorKey } from '../models/vendors.ts';
import { OpenResources } from '../store/open-resources.ts';
import type { Store } from '../store/open-store.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { chooseSession } from './choose-session.ts';
import { resolveWorkFolder } from './paths.ts';
import { untilStopped } from './stop-signals.ts';
import { trustedConfig, trustedExtensions, withExtensionCode } from './trusted-config.ts';
import { hasTerminal, printInsteadOfChat } from './without-terminal.ts';

/** Runs a chat, or prints one answer. */
export async function runAgent(args: ChatArgs | PrintArgs, host: Host): Promise<number> {
  if (args.command === 'chat' && hasTerminal(host)) return openChat(args, host);
  if (args.command === 'print') return printAnswer(args, host, false);
  const { args: instead, stdin, isDemo } = await printInsteadOfChat(args, host);
  return printAnswer(instead, { ...host, stdin }, isDemo);
}

async function printAnswer(args: PrintArgs, host: Host, isDemo: boolean): Promise<number> {
  const printing = import('../print/print-run.ts');
  printing.catch(() => {});
  const { signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const config = await untilStopped(signal, loadConfig({ args, env: host.env, cwd }));
  printWarnings(config, host);
  const { agents } = args;
  if (agents !== undefined) return branchOfModule({ ...args, agents }, config, host, cwd);
  const extended = await untilStopped(
    signal,
    trustedExtensions(args, { env: host.env, cwd, config }),
  );
  if (extended?.warning !== undefined) writeText(host.stderr, `${extended.warning}\n`);
  const extensions = extended?.extensions;
  return withAgent(
    { args, config, extensions, host, cwd, approve: 'park', isDemo },
    async (run) => {
      const { printRun } = await printing;
      const { stdin, stdout, stderr, env } = host;
      return printRun({ args, ...run, stdin, stdout, stderr, env, cwd, signal, isKept: !isDemo });
    },
  );
}

/** Runs `millrace branch --agents`. The agent of the module continues the session, with its own tools. */
async function branchOfModule(
  args: PrintArgs & { readonly agents: string },
  config: Config,
  host: Host,
  cwd: string,
): Promise<number> {
  const { stdin, stdout, stderr, env, signal } = host;
  const loading = Promise.all([
    import('../models/choose-model.ts'),
    import('../print/print-run.ts'),
    import('../recorded/find-agent.ts'),
    import('../store/open-store.ts'),
    import('./tracing.ts'),
  ]);
  const [{ chooseModel }, { printRun }, { openAgents }, { openStore }, { startTracing }] =
    await untilStopped(signal, loading);
  await using opened = new OpenResources();
  const { observers, close } = startTracing(args.otlp, host);
  opened.defer(close);
  const store = await untilStopped(signal, openStore({ config, env, mustExist: true }));
  opened.defer(() => store.close());
  const { log } = store;
  const { name, agent } = (await untilStopped(signal, openAgents(args.agents, log))).find(
    args.agent,
  );
  const why = `The agent ${name} of ${args.agents} continues the session`;
  const chosen =
    args.model === undefined
      ? { why, isDemo: false }
      : await untilStopped(signal, chooseModel({ config, env, cwd }));
  const built = { agent, problems: [] };
  const streams = { stdin, stdout, stderr, env, cwd, signal };
  return await printRun({ args, built, log, chosen, observers, ...streams });
}

async function openChat(args: ChatArgs, given: Host): Promise<number> {
  const { signal } = given;
  // Loading React takes as long as the work below, so it starts first. If it fails, the error is
  // thrown when the module is used.
  const chatting = import('../chat/run-chat.ts');
  chatting.catch(() => {});
  const cwd = await untilStopped(signal, resolveWorkFolder(args, given.cwd));
  const loaded = await untilStopped(signal, trustedConfig(args, given, cwd));
  if (loaded === undefined) return exitCodes.aborted;
  printWarnings(loaded, given);
  const first = await untilStopped(signal, chooseFirstModel(loaded, given, cwd));
  if (first === undefined) return exitCodes.aborted;
  const { env, model } = first;
  const [host, config] = [
    { ...given, env },
    { ...loaded, model: model ?? loaded.model },
  ];
  const extended = await untilStopped(signal, trustedExtensions(args, { env, cwd, config }, host));
  if (extended === undefined) return exitCodes.aborted;
  const { extensions, warning } = extended;
  if (warning !== undefined) writeText(host.stderr, `${warning}\n`);
  const setup = { args, config, extensions, host, cwd, approve: 'wait', isDemo: false } as const;
  return withAgent(setup, async (run) => {
    const session = await chooseSession(args.session, { ...run, cwd, flags: args });
    const { runChat } = await chatting;
    const picks = args.session === 'pick';
    const chosen = { config, session, picks, prompt: args.prompt };
    return runChat({ ...run, ...chosen, args, cwd, env, signal });
  });
}

/** Asks for a model if none is known. The code of the question is loaded only then. */
async function chooseFirstModel(
  config: Config,
  host: Host,
  cwd: string,
): Promise<FirstChoice | undefined> {
  const { env } = host;
  if (config.model?.trim() || hasVendorKey(env)) return { env };
  const { firstContact } = await import('../first-contact/first-contact.ts');
  return firstContact({ config, env, cwd }, host);
}

function printWarnings({ warnings }: Config, { stderr }: Host): void {
  for (const warning of warnings) writeText(stderr, `${warning}\n`);
}

interface AgentSetup {
  readonly args: ChatArgs | PrintArgs;
  readonly config: Config;
  readonly extensions: Extensions | undefined;
  readonly host: Host;
  readonly cwd: string;
  readonly approve: 'wait' | 'park';
  /** True for a single turn of the demo. Its session is not stored. */
  readonly isDemo: boolean;
}

interface ReadyAgent extends Pick<Store, 'log'> {
  readonly built: BuiltAgent;
  readonly chosen: ChosenModel;
}

/** Opens all resources of a run, calls `use`, and closes the resources. */
async function withAgent(
  { args, host, cwd, approve, isDemo, ...given }: AgentSetup,
  use: (ready: ReadyAgent) => Promise<number>,
): Promise<number> {
  const { env, signal } = host;
  const loading = Promise.all([
    import('../models/choose-model.ts'),
    import('../agent/build-agent.ts'),
    import('../store/open-store.ts'),
    import('./tracing.ts'),
  ]);
  const [{ chooseModel, subAgentModels }, { buildAgent }, { openStore }, { startTracing }] =
    await untilStopped(signal, loading);
  const { extensions, config } = isDemo
    ? { ...given, extensions: undefined }
    : await untilStopped(signal, withExtensionCode(given.extensions, { ...given, env, cwd }));
  const choosing = isDemo ? openDemoModel(cwd, host) : chooseModel({ config, env, cwd });
  // The code below handles the error when the store is open. This empty handler prevents an
  // unhandled rejection.
  choosing.catch(() => {});
  await using opened = new OpenResources();
  const { observers, close } = startTracing(args.otlp, host);
  opened.defer(close);
  // A run that continues a session must not create an empty store for a mistyped path.
  const mustExist = args.session !== 'new';
  const store = isDemo
    ? openMemoryStore()
    : await untilStopped(signal, openStore({ config, env, mustExist }));
  opened.defer(() => store.close());
  const { log } = store;
  const chosen = await untilStopped(signal, choosing);
  const copies = isDemo ? undefined : fileCopiesFolder(env);
  const building = buildAgent({
    ...{ config, chosen, log, cwd, approve, observers, copies, signal, env },
    onInterrupted: args.command === 'chat' && args.takesOver ? 'retry' : undefined,
    extensions,
    openModel: subAgentModels({ config, env, cwd }),
  });
  const built = await untilStopped(signal, building);
  opened.defer(() => built.close());
  return await use({ log, built, chosen });
}

/** Creates the demo model. If there is no terminal, it does not pause between tokens. */
async function openDemoModel(cwd: string, { stdout }: Host): Promise<ChosenModel> {
  const { demoProvider } = await import('../demo/demo-provider.ts');
  const provider = demoProvider({ cwd, ...(stdout.isTTY ? {} : { pauseMs: 0 }) });
  const why = 'There is no prompt and no terminal, so the demo runs.';
  return { provider, label: 'demo', why, isDemo: true };
}

function openMemoryStore(): Pick<Store, 'log' | 'close'> {
  const log = memoryLog();
  return { log, close: () => log.close() };
}
