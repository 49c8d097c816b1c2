import { ruleFromText } from '../config/rule-text.ts';
import type {
  Args,
  ChatArgs,
  HelpTopic,
  PrintArgs,
  RunArgs,
  SessionChoice,
} from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import {
  amountOf,
  countOf,
  isGiven,
  readWords,
  sharedArgs,
  textOf,
  type Words,
} from './command-line.ts';
import { type FlagName, type FlagOwner, flagOf } from './flags.ts';
import { nearestName } from './nearest-name.ts';
import {
  doctorArgs,
  inspectArgs,
  replayArgs,
  serveArgs,
  sessionsArgs,
} from './sub-command-args.ts';

const topics: readonly HelpTopic[] = ['sessions', 'replay', 'inspect', 'doctor', 'serve'];

/**
 * What is asked for by the words after `millrace`. A word that is a command is one when it comes first
 * and there is no `-p`; all other words are what is said to the model.
 *
 * @example
 * parseArgs(['-p', 'Say hello', '--json']); // { command: 'print', prompt: 'Say hello', json: true, … }
 */
export function parseArgs(argv: readonly string[]): Args {
  const given = readWords(argv);
  const has = (name: FlagName) => given.flags.some((flag) => flag.name === name);
  if (has('version')) return { command: 'version' };
  const command = has('print') ? undefined : commandOf(given);
  if (command === 'help') return { command: 'help', topic: topicOf(given.words[1]) };
  if (has('help')) return { command: 'help', topic: command };
  checkOwners(given, command ?? (has('print') ? 'print' : 'run'));
  if (command === undefined) return runArgs(given);
  const operands = { ...given, words: given.words.slice(1) };
  switch (command) {
    case 'sessions':
      return sessionsArgs(operands);
    case 'replay':
      return replayArgs(operands);
    case 'inspect':
      return inspectArgs(operands);
    case 'doctor':
      return doctorArgs(operands);
    case 'serve':
      return serveArgs(operands);
  }
}

function commandOf({ words, hasFirstWord }: Words): HelpTopic | 'help' | undefined {
  const [first] = words;
  if (first === undefined || !hasFirstWord) return undefined;
  const commands = [...topics, 'help'] as const;
  const command = commands.find((name) => name === first);
  if (command !== undefined || words.length > 1) return command;
  const near = nearestName(first, commands);
  if (near === undefined) return undefined;
  const way = `Did you mean millrace ${near}? To say it to the model: millrace -- ${first}`;
  throw new UsageError(`There is no command ${first}. ${way}`, { command: first });
}

function topicOf(word: string | undefined): HelpTopic | undefined {
  const topic = topics.find((name) => name === word);
  if (word === undefined || topic !== undefined) return topic;
  throw new UsageError(`There is no help on that. There is on: ${topics.join(', ')}`);
}

/** A flag that would do nothing is a mistake, and somebody relies on it. */
function checkOwners({ flags }: Words, owner: FlagOwner): void {
  const stray = flags.find(({ name }) => !flagOf(name).of.includes(owner));
  if (stray === undefined) return;
  const owners = flagOf(stray.name).of;
  const isOfPrint = owner === 'run' && owners.includes('print');
  const what = owner === 'run' || owner === 'print' ? 'the chat' : `millrace ${owner}`;
  const ways = owners.map((each) =>
    each === 'run' || each === 'print' ? '-p' : `millrace ${each}`,
  );
  const way = isOfPrint
    ? 'It goes with -p: add that'
    : `It goes with ${[...new Set(ways)].join(', ')}`;
  throw new UsageError(`--${stray.name} is not for ${what}. ${way}`, { flag: stray.name });
}

/** A chat, or with `-p` a print. */
export function runArgs(given: Words): ChatArgs | PrintArgs {
  const text = [textOf(given, 'print') ?? '', ...given.words].join(' ').trim();
  const prompt = text === '' ? undefined : text;
  const shared = sharedRunArgs(given);
  if (!isGiven(given, 'print')) return { ...shared, command: 'chat', prompt };
  if (shared.session === 'pick') {
    throw new UsageError('--resume needs an id with -p: nobody is there to choose one');
  }
  const json = isGiven(given, 'json');
  const outputSchema = textOf(given, 'output-schema');
  if (json && outputSchema !== undefined) {
    throw new UsageError('--json prints events and --output-schema one object. Leave out one');
  }
  const verbose = isGiven(given, 'verbose');
  return { ...shared, command: 'print', prompt, json, outputSchema, verbose };
}

function sharedRunArgs(given: Words): RunArgs {
  return {
    ...sharedArgs(given),
    session: sessionChoice(given),
    model: textOf(given, 'model'),
    system: textOf(given, 'system'),
    maxTurns: countOf(given, 'max-turns'),
    maxTokens: countOf(given, 'max-tokens'),
    maxCost: amountOf(given, 'max-cost'),
    permissions: permissionsOf(given),
    rules: given.flags.flatMap(({ name, value }) =>
      name === 'allow' || name === 'deny' ? [ruleFromText(value, name)] : [],
    ),
    trust: isGiven(given, 'trust'),
    otlp: textOf(given, 'otlp'),
  };
}

function sessionChoice(given: Words): SessionChoice {
  const id = textOf(given, 'resume');
  if (isGiven(given, 'continue')) {
    if (id === undefined) return 'last';
    throw new UsageError('--continue and --resume both choose a session. Leave out one');
  }
  if (id === undefined) return 'new';
  return id === '' ? 'pick' : { id };
}

function permissionsOf(given: Words): RunArgs['permissions'] {
  const isReadOnly = isGiven(given, 'read-only');
  if (!isGiven(given, 'yes')) return isReadOnly ? 'read-only' : undefined;
  if (!isReadOnly) return 'allow';
  throw new UsageError('--yes allows everything and --read-only next to nothing. Leave out one');
}
