import { lineStart } from '../editor/cursor-stops.ts';
import type { Content } from '../editor/editor-state.ts';
import { gapAround } from '../editor/folded-text.ts';
import type {
  Choice,
  Command,
  CompletionItem,
  CompletionSources,
  Completions,
} from './completion.ts';
import { fileCompletions, openMention } from './file-completions.ts';
import { fuzzyScore } from './fuzzy-search.ts';

/**
 * Returns the completions at the cursor. At the start of the prompt, these are commands and their
 * arguments. After an `@`, these are files.
 */
export function completions(
  content: Content,
  { commands = [], files = [] }: CompletionSources,
): Completions | undefined {
  const { start, text } = textBeforeCursor(content);
  // A command that is completed in front of a letter would be joined with it.
  const isAtEnd = !/^\S/.test(content.text.slice(content.cursor, content.cursor + 1));
  const command = start === 0 && isAtEnd ? commandCompletions(text, commands) : undefined;
  return command ?? shiftCompletions(fileCompletions(text, files), start);
}

/** Returns true if the cursor is in an `@` mention. The prompt then offers files. */
export function isNamingFile(content: Content): boolean {
  return openMention(textBeforeCursor(content).text) !== undefined;
}

/** Returns the text before the cursor in its line, without folded text. */
function textBeforeCursor(content: Content): { readonly start: number; readonly text: string } {
  const { text, cursor } = content;
  const start = Math.max(gapAround(content, cursor).start, lineStart(content, cursor));
  return { start, text: text.slice(start, cursor) };
}

function shiftCompletions(
  completions: Completions | undefined,
  by: number,
): Completions | undefined {
  if (completions === undefined) return undefined;
  return { ...completions, start: completions.start + by, end: completions.end + by };
}

const maxItems = 50;

/**
 * Returns the completions after a slash at the start of the prompt. For the first word, these are
 * command names. After it, these are arguments.
 */
function commandCompletions(
  textBefore: string,
  commands: readonly Command[],
): Completions | undefined {
  const match = /^(\/\S*)(?:( +)((?! )[^\n]*))?$/.exec(textBefore);
  if (match === null) return undefined;
  const [, name = '', space, argument = ''] = match;
  if (space === undefined) return completionsOf(0, textBefore, namesFor(name, commands));
  const choices = commands.find((command) => command.name === name)?.choices?.() ?? [];
  return completionsOf(name.length + space.length, textBefore, choicesFor(argument, choices));
}

function completionsOf(
  start: number,
  text: string,
  items: readonly CompletionItem[],
): Completions | undefined {
  const typed = text.slice(start);
  const isDone = items.length === 1 && items[0]?.kind === 'argument' && items[0].label === typed;
  return items.length === 0 || isDone ? undefined : { start, end: text.length, items };
}

/**
 * Returns the matching commands. Commands that start with the typed text come first, then commands
 * that contain it. Both groups keep the order of `commands`.
 */
function namesFor(typed: string, commands: readonly Command[]): readonly CompletionItem[] {
  const wanted = typed.toLowerCase();
  const rest = wanted.slice(1);
  const shown = commands.filter(({ isAlias }) => isAlias !== true || wanted.includes(':'));
  const begins = shown.filter(({ name }) => name.startsWith(wanted));
  const has = shown.filter(({ name }) => !name.startsWith(wanted) && name.includes(rest));
  return [...begins, ...has].slice(0, maxItems).map(commandItem);
}

function commandItem({ name, description, choices, takesText }: Command): CompletionItem {
  const isComplete = choices === undefined && takesText !== true;
  const insert = isComplete ? name : `${name} `;
  return { kind: 'command', label: name, description, insert, isComplete };
}

function choicesFor(typed: string, choices: readonly Choice[]): readonly CompletionItem[] {
  const wanted = typed.trimEnd().toLowerCase();
  const fitting = choices.flatMap((choice) => {
    const text = `${choice.value} ${choice.description ?? ''}`.toLowerCase();
    const score =
      fuzzyScore(choice.value.toLowerCase(), wanted) ?? (text.includes(wanted) ? 0 : undefined);
    return score === undefined ? [] : [{ choice, score }];
  });
  if (wanted !== '') fitting.sort((a, b) => b.score - a.score);
  return fitting.slice(0, maxItems).map(({ choice: { value, description } }) => ({
    kind: 'argument',
    label: value,
    description,
    insert: value,
    isComplete: true,
  }));
}
