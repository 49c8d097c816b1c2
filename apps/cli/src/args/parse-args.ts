import { ruleFromText } from '../config/rule-text.ts';
import {
  type AcpArgs,
  type Args,
  type ChatArgs,
  type HelpTopic,
  type InitArgs,
  type McpArgs,
  type PrintArgs,
  type RpcArgs,
  type RunArgs,
  type SessionChoice,
  streamSettings,
} from '../contract/args.ts';
import { sandboxSettings, sessionModes, webSearchSettings } from '../contract/config.ts';
import { UsageError } from '../contract/errors.ts';
import {
  type CommandLine,
  flagAmount,
  flagCount,
  flagText,
  hasFlag,
  plainArgs,
  readCommandLine,
  sharedArgs,
} from './command-line.ts';
import { attachArgs, psArgs, shareArgs, topArgs } from './daemon-args.ts';
import type { FlagOwner } from './flag.ts';
import { type FlagName, getFlag } from './flags.ts';
import { nearestName } from './nearest-name.ts';
import {
  backupArgs,
  diffArgs,
  doctorArgs,
  evalArgs,
  inspectArgs,
  loginArgs,
  mcpLoginArgs,
  modelsArgs,
  pluginsArgs,
  replayArgs,
  reportArgs,
  serveArgs,
  sessionsArgs,
  sqlArgs,
  testArgs,
  verifyArgs,
} from './sub-command-args.ts';

/** All commands, in the order of messages. The compiler finds a command that is missing here. */
const topicNames: Readonly<Record<HelpTopic, true>> = {
  ...{ sessions: true, replay: true, inspect: true, diff: true, branch: true, test: true },
  ...{ sql: true, verify: true, report: true, models: true, doctor: true, serve: true },
  ...{ backup: true, restore: true, acp: true, rpc: true, mcp: true, ps: true, top: true },
  ...{ attach: true, share: true, init: true, plugins: true, eval: true },
  ...{ login: true, logout: true },
};
const topics = Object.keys(topicNames) as readonly HelpTopic[];

/**
 * Parses the words after `millrace`. The first operand may be a command if there is no `-p`. All
 * other operands are the prompt.
 *
 * @example
 * parseArgs(['-p', 'Say hello', '--json']);
 * // { command: 'print', prompt: 'Say hello', json: true, … }
 */
export function parseArgs(argv: readonly string[]): Args {
  const line = readCommandLine(argv);
  const has = (name: FlagName) => line.flags.some((flag) => flag.name === name);
  if (has('version')) return { command: 'version' };
  const command = has('print') ? undefined : findCommand(line);
  if (command === 'help') return { command: 'help', topic: findTopic(line.operands[1]) };
  if (has('help')) return { command: 'help', topic: command };
  checkFlagOwners(line, command ?? (has('print') ? 'print' : 'run'));
  if (command === undefined) return runArgs(line);
  const rest = { ...line, operands: line.operands.slice(1) };
  switch (command) {
    case 'init':
    case 'acp':
    case 'rpc':
      return programArgs(rest, command);
    case 'mcp':
      return rest.operands.length > 0 || has('device')
        ? mcpLoginArgs(rest)
        : programArgs(rest, command);
    case 'login':
    case 'logout':
      return loginArgs(rest, command);
    case 'sessions':
      return sessionsArgs(rest);
    case 'plugins':
      return pluginsArgs(rest);
    case 'replay':
      return replayArgs(rest);
    case 'inspect':
      return inspectArgs(rest);
    case 'diff':
      return diffArgs(rest);
    case 'branch':
      return branchArgs(rest);
    case 'test':
      return testArgs(rest);
    case 'eval':
      return evalArgs(rest);
    case 'sql':
      return sqlArgs(rest);
    case 'verify':
      return verifyArgs(rest);
    case 'report':
      return reportArgs(rest);
    case 'models':
      return modelsArgs(rest);
    case 'doctor':
      return doctorArgs(rest);
    case 'serve':
      return serveArgs(rest);
    case 'backup':
    case 'restore':
      return backupArgs(rest, command);
    case 'ps':
      return psArgs(rest);
    case 'top':
      return topArgs(rest);
    case 'attach':
      return attachArgs(rest);
    case 'share':
      return shareArgs(rest);
  }
}

function findCommand({ operands, startsWithOperand }: CommandLine): HelpTopic | 'help' | undefined {
  const [first] = operands;
  if (first === undefined || !startsWithOperand) return undefined;
  const commands = [...topics, 'help'] as const;
  const command = commands.find((name) => name === first);
  if (command !== undefined || operands.length > 1) return command;
  const near = nearestName(first, commands);
  if (near === undefined) return undefined;
  const way = `Did you mean millrace ${near}? To send it to the model: millrace -- ${first}`;
  throw new UsageError(`Unknown command ${first}. ${way}`, { command: first });
}

function findTopic(word: string | undefined): HelpTopic | undefined {
  const topic = topics.find((name) => name === word);
  if (word === undefined || topic !== undefined) return topic;
  throw new UsageError(`There is no such help topic. Topics: ${topics.join(', ')}`);
}

/** Throws if the command does not support a flag. The user expects that the flag has an effect. */
function checkFlagOwners({ flags }: CommandLine, owner: FlagOwner): void {
  const misplaced = flags.find(({ name }) => !getFlag(name).owners.includes(owner));
  if (misplaced === undefined) return;
  const owners = getFlag(misplaced.name).owners;
  const isOfPrint = owner === 'run' && owners.includes('print');
  const what = owner === 'run' || owner === 'print' ? 'the chat' : `millrace ${owner}`;
  const names: Partial<Record<FlagOwner, string>> = { run: 'the chat', print: '-p' };
  const ways = owners.map((each) => names[each] ?? `millrace ${each}`);
  const way = isOfPrint ? 'It requires -p' : `Use it with ${ways.join(' or ')}`;
  throw new UsageError(`--${misplaced.name} is not for ${what}. ${way}`, { flag: misplaced.name });
}

/** Parses the arguments of a chat, or of a single answer with `-p`. */
function runArgs(line: CommandLine): ChatArgs | PrintArgs {
  const text = [flagText(line, 'print') ?? '', ...line.operands].join(' ').trim();
  const prompt = text === '' ? undefined : text;
  const shared = sharedRunArgs(line);
  const isEmpty = prompt === undefined && line.operands.length > 0;
  if (!hasFlag(line, 'print'))
    return { ...shared, command: 'chat', prompt, ...(isEmpty && { hasEmptyPrompt: true }) };
  if (shared.session === 'pick') {
    throw new UsageError('--resume needs an id with -p, because there is no user to choose one');
  }
  const json = hasFlag(line, 'json');
  const outputSchema = flagText(line, 'output-schema');
  if (json && outputSchema !== undefined) {
    throw new UsageError(
      '--json prints events and --output-schema prints one object. Use only one of them',
    );
  }
  const stream = streamSetting(line);
  if (stream !== undefined && (json || outputSchema !== undefined)) {
    throw new UsageError('--stream is for text. Leave it out with --json and --output-schema', {
      flag: 'stream',
    });
  }
  const verbose = hasFlag(line, 'verbose');
  return { ...shared, command: 'print', prompt, json, stream, outputSchema, verbose };
}

/** Parses the arguments of `millrace branch`. It prints one answer, like `-p`. */
function branchArgs(line: CommandLine): PrintArgs {
  const [id, ...more] = line.operands;
  const at = flagCount(line, 'at');
  if (id === undefined || id === '' || more.length > 0 || at === undefined) {
    const way = 'millrace branch <id> --at <record> --text "Another message"';
    throw new UsageError(`millrace branch needs a session and a record: ${way}`);
  }
  const valuesOf = (name: FlagName) =>
    line.flags.flatMap((flag) => (flag.name === name ? [flag.value] : []));
  const branch = {
    at,
    text: flagText(line, 'text'),
    instructions: flagText(line, 'instructions'),
    results: Object.fromEntries(valuesOf('result').map(resultOf)),
    rerun: valuesOf('rerun'),
  };
  const session = id === 'last' ? id : { id };
  const [json, verbose] = [hasFlag(line, 'json'), hasFlag(line, 'verbose')];
  const [agents, agent] = [flagText(line, 'agents'), flagText(line, 'agent')];
  if (agent !== undefined && agents === undefined)
    throw new UsageError('--agent needs the module of the agent: --agents <file>', {
      flag: 'agent',
    });
  const own = { agents, agent, json, verbose };
  return { ...agentArgs(line), command: 'print', session, branch, ...own };
}

/** Parses `call=text`. */
function resultOf(given: string): readonly [string, string] {
  const at = given.indexOf('=');
  if (at > 0) return [given.slice(0, at), given.slice(at + 1)];
  throw new UsageError('--result needs the id of a call and a text: --result call_1="Not found"', {
    flag: 'result',
  });
}

/** Parses the arguments of an agent that takes no prompt and no session. */
function programArgs(
  line: CommandLine,
  command: 'init' | 'acp' | 'rpc' | 'mcp',
): InitArgs | AcpArgs | RpcArgs | McpArgs {
  if (line.operands.length > 0)
    throw new UsageError(
      `millrace ${command} got too many arguments. See millrace ${command} --help`,
    );
  return { ...agentArgs(line), command };
}

function sharedRunArgs(line: CommandLine): RunArgs {
  return { ...agentArgs(line), session: sessionChoice(line), otlp: flagText(line, 'otlp') };
}

function agentArgs(line: CommandLine): Omit<RunArgs, 'session' | 'otlp'> {
  return {
    ...sharedArgs(line),
    model: flagText(line, 'model'),
    system: flagText(line, 'system'),
    maxTurns: flagCount(line, 'max-turns'),
    maxTokens: flagCount(line, 'max-tokens'),
    maxCost: flagAmount(line, 'max-cost'),
    permissions: permissionMode(line),
    rules: line.flags.flatMap(({ name, value }) =>
      name === 'allow' || name === 'deny' ? [ruleFromText(value, name)] : [],
    ),
    sandbox: sandboxSetting(line),
    webSearch: webSearchSetting(line),
    trust: hasFlag(line, 'trust'),
    ...plainArgs(line),
  };
}

function sessionChoice(line: CommandLine): SessionChoice {
  const id = flagText(line, 'resume');
  if (hasFlag(line, 'continue')) {
    if (id === undefined) return 'last';
    throw new UsageError('--continue and --resume both choose a session. Use only one of them');
  }
  if (id === undefined) return 'new';
  return id === '' ? 'pick' : { id };
}

function streamSetting(line: CommandLine): PrintArgs['stream'] {
  const text = flagText(line, 'stream');
  const setting = streamSettings.find((one) => one === text);
  if (text === undefined || setting !== undefined) return setting;
  throw new UsageError(`--stream must be one of ${streamSettings.join(', ')}`, { flag: 'stream' });
}

function sandboxSetting(line: CommandLine): RunArgs['sandbox'] {
  const text = flagText(line, 'sandbox');
  const setting = sandboxSettings.find((one) => one === text);
  if (text === undefined || setting !== undefined) return setting;
  throw new UsageError(`--sandbox must be one of ${sandboxSettings.join(', ')}`, {
    flag: 'sandbox',
  });
}

function webSearchSetting(line: CommandLine): RunArgs['webSearch'] {
  const text = flagText(line, 'web-search');
  const setting = webSearchSettings.find((one) => one === text);
  if (text === undefined || setting !== undefined) return setting;
  throw new UsageError(`--web-search must be one of ${webSearchSettings.join(', ')}`, {
    flag: 'web-search',
  });
}

function permissionMode(line: CommandLine): RunArgs['permissions'] {
  const isReadOnly = hasFlag(line, 'read-only');
  const isAllowed = hasFlag(line, 'yes');
  if (isReadOnly && isAllowed)
    throw new UsageError(
      '--yes allows everything and --read-only allows only reading. Use only one of them',
    );
  const named = modeSetting(line);
  if (named !== undefined && (isReadOnly || isAllowed))
    throw new UsageError('--mode, --yes and --read-only all set the mode. Use only one of them', {
      flag: 'mode',
    });
  if (isReadOnly) return 'read-only';
  return isAllowed ? 'allow' : named;
}

function modeSetting(line: CommandLine): RunArgs['permissions'] {
  const text = flagText(line, 'mode');
  const mode = sessionModes.find((one) => one === text);
  if (text === undefined || mode !== undefined) return mode;
  throw new UsageError(`--mode must be one of ${sessionModes.join(', ')}`, { flag: 'mode' });
}
