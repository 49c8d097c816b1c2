import type { HelpTopic } from '../contract/args.ts';

/** The command that a flag belongs to. `run` is the chat; `print` is the chat command with `-p`. */
export type FlagOwner = 'run' | 'print' | HelpTopic;

export interface Flag {
  readonly short?: string;
  /**
   * The placeholder for the value in the help. `<…>` is required, `[…]` is optional; undefined
   * means no value.
   */
  readonly value?: string;
  readonly owners: readonly FlagOwner[];
  /** The text for the help. */
  readonly help: string;
  /** A different help text for single commands. */
  readonly helpByOwner?: Partial<Record<FlagOwner, string>>;
}

export type FlagName =
  | 'print'
  | 'json'
  | 'output-schema'
  | 'verbose'
  | 'model'
  | 'continue'
  | 'resume'
  | 'cwd'
  | 'config'
  | 'store'
  | 'system'
  | 'max-turns'
  | 'max-tokens'
  | 'max-cost'
  | 'yes'
  | 'read-only'
  | 'allow'
  | 'deny'
  | 'trust'
  | 'all'
  | 'output'
  | 'speed'
  | 'port'
  | 'host'
  | 'agents'
  | 'data'
  | 'bus'
  | 'log'
  | 'token'
  | 'otlp'
  | 'no-color'
  | 'help'
  | 'version';

const sessionCommands: readonly FlagOwner[] = [
  'run',
  'print',
  'sessions',
  'replay',
  'inspect',
  'doctor',
];
const allCommands: readonly FlagOwner[] = [...sessionCommands, 'serve'];
const agentRuns: readonly FlagOwner[] = ['run', 'print'];

/** All flags, in the order of the help. A flag has the same meaning in all commands. */
const flags: Readonly<Record<FlagName, Flag>> = {
  print: {
    short: 'p',
    value: '[text]',
    owners: agentRuns,
    help: 'Answer once and print it, for scripts. Piped input is context, or the text itself',
  },
  json: {
    owners: ['print', 'sessions', 'replay', 'inspect', 'doctor'],
    help: 'Print JSON for programs',
    helpByOwner: { print: 'With -p: print all that happens as JSON, one event a line' },
  },
  'output-schema': {
    value: '<file>',
    owners: ['print'],
    help: 'With -p: print an object that fits this JSON schema, or fail',
  },
  verbose: { owners: ['print'], help: 'With -p: say on standard error what it does' },
  model: {
    short: 'm',
    value: '<name>',
    owners: agentRuns,
    help: 'A name of your configuration, provider/model, or "demo"',
  },
  continue: { short: 'c', owners: agentRuns, help: 'Go on with the last session of this folder' },
  resume: {
    short: 'r',
    value: '[id]',
    owners: agentRuns,
    help: 'Go on with a session: by its id or how that begins, or choose from a list',
  },
  cwd: { value: '<dir>', owners: allCommands, help: 'Work in this folder' },
  config: {
    value: '<file>',
    owners: sessionCommands,
    help: 'Use this configuration file and no other',
  },
  store: {
    value: '<file>',
    owners: allCommands,
    help: 'Keep the sessions in this file',
    helpByOwner: {
      serve:
        'Keep all in this folder, or in postgres://user@host/database, which servers share. MILLRACE_SERVER_STORE does the same, unseen by others',
    },
  },
  system: { value: '<text>', owners: agentRuns, help: 'Further instructions for the model' },
  'max-turns': { value: '<n>', owners: agentRuns, help: 'Stop after so many requests' },
  'max-tokens': { value: '<n>', owners: agentRuns, help: 'Stop after so many tokens, in and out' },
  'max-cost': {
    value: '<dollars>',
    owners: agentRuns,
    help: 'Stop when it has cost so much: 0.50',
  },
  yes: {
    short: 'y',
    owners: ['run', 'print', 'sessions', 'serve'],
    help: 'Do not ask: every tool runs, commands and changes of files too, unless a rule is against it',
    helpByOwner: {
      sessions: 'Delete without asking',
      serve: 'The demo may change files and run programs; it only looks otherwise',
    },
  },
  'read-only': {
    owners: agentRuns,
    help: 'Only tools that look; nothing is changed and nothing is run',
  },
  allow: {
    value: '<rule>',
    owners: agentRuns,
    help: 'Allow without asking: "bash:git status", "write:src/**"',
  },
  deny: {
    value: '<rule>',
    owners: agentRuns,
    help: 'Never allow: "bash:git push", "*:.env". Wins over the rest',
  },
  trust: {
    owners: agentRuns,
    help: "Take all of this folder's millrace.json, programs it starts included, until it changes",
  },
  all: { short: 'a', owners: ['sessions'], help: 'Those of every folder' },
  output: { short: 'o', value: '<file>', owners: ['sessions'], help: 'Where export writes' },
  speed: { value: '<n>', owners: ['replay'], help: 'Times as fast as it was; "max" is at once' },
  port: {
    value: '<n>',
    owners: ['serve'],
    help: 'Listen there; 5003 unless told, 0 for any that is free',
  },
  host: {
    value: '<name>',
    owners: ['serve'],
    help: 'Listen there; 127.0.0.1 unless told. Elsewhere a token is needed',
  },
  agents: {
    value: '<file>',
    owners: ['serve'],
    help: 'Serve what this module exports, instead of the demo',
  },
  data: { value: '<dir>', owners: ['serve'], help: 'Keep sessions, tasks and keys in this folder' },
  bus: {
    value: '<url>',
    owners: ['serve'],
    help: 'Tell other servers of the same store through redis://host. MILLRACE_SERVER_BUS does the same',
  },
  log: {
    value: '<form>',
    owners: ['serve'],
    help: 'A line a request: "text" for people, "json" for programs',
  },
  token: {
    value: '<text>',
    owners: ['serve'],
    help: 'Let in who has it. MILLRACE_TOKEN does the same, unseen by others',
  },
  otlp: {
    value: '<url>',
    owners: ['run', 'print', 'serve'],
    help: 'Send spans to this collector: http://localhost:4318',
  },
  'no-color': { owners: sessionCommands, help: 'No colours; NO_COLOR=1 does the same' },
  help: { short: 'h', owners: allCommands, help: 'Say how it is used' },
  version: { short: 'v', owners: allCommands, help: 'Say which version it is' },
};

export const flagNames: readonly FlagName[] = Object.keys(flags) as readonly FlagName[];

export function getFlag(name: FlagName): Flag {
  return flags[name];
}
