import type { Args, HelpTopic } from './args.ts';
import { type FlagName, type FlagOwner, flagOf } from './flags.ts';
import { nearestName } from './nearest-name.ts';
import { readWords, type Words } from './read-words.ts';
import { runArgs } from './run-args.ts';
import { serveArgs } from './serve-args.ts';
import { doctorArgs, inspectArgs, replayArgs, sessionsArgs } from './sub-command-args.ts';
import { UsageError } from './usage-error.ts';

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
