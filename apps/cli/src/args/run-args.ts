import { ruleFromText } from '../config/rule-text.ts';
import type { ChatArgs, PrintArgs, RunArgs, SessionChoice } from './args.ts';
import { amountOf, countOf, isGiven, sharedArgs, textOf } from './flag-values.ts';
import type { Words } from './read-words.ts';
import { UsageError } from './usage-error.ts';

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
