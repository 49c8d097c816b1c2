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

/** What could stand at the cursor: commands and their arguments at the very beginning, files behind an @. */
export function completions(
  content: Content,
  { commands = [], files = [] }: CompletionSources,
): Completions | undefined {
  const { start, text } = beforeCursor(content);
  const command = start === 0 ? commandCompletions(text, commands) : undefined;
  return command ?? shifted(fileCompletions(text, files), start);
}

/** Would files be offered at the cursor, if there were any? */
export function isNamingFile(content: Content): boolean {
  return openMention(beforeCursor(content).text) !== undefined;
}

/** What is on the cursor's line before it, without what is folded. */
function beforeCursor(content: Content): { readonly start: number; readonly text: string } {
  const { text, cursor } = content;
  const start = Math.max(gapAround(content, cursor).start, lineStart(content, cursor));
  return { start, text: text.slice(start, cursor) };
}

function shifted(found: Completions | undefined, by: number): Completions | undefined {
  if (found === undefined) return undefined;
  return { ...found, start: found.start + by, end: found.end + by };
}

const maxItems = 50;

/** What a slash at the very beginning may mean: a command, and then what it takes. */
function commandCompletions(
  textBefore: string,
  commands: readonly Command[],
): Completions | undefined {
  const match = /^(\/\S*)(?:( +)([^\n]*))?$/.exec(textBefore);
  if (match === null) return undefined;
  const [, name = '', space, argument = ''] = match;
  if (space === undefined) return found(0, textBefore, namesFor(name, commands));
  const choices = commands.find((command) => command.name === name)?.choices?.() ?? [];
  return found(name.length + space.length, textBefore, choicesFor(argument, choices));
}

function found(
  start: number,
  text: string,
  items: readonly CompletionItem[],
): Completions | undefined {
  const typed = text.slice(start);
  const isDone = items.length === 1 && items[0]?.kind === 'argument' && items[0].label === typed;
  return items.length === 0 || isDone ? undefined : { start, end: text.length, items };
}

/** Those that begin like it, and then those that have it somewhere. As they are ordered, otherwise. */
function namesFor(typed: string, commands: readonly Command[]): readonly CompletionItem[] {
  const wanted = typed.toLowerCase();
  const rest = wanted.slice(1);
  const begins = commands.filter(({ name }) => name.startsWith(wanted));
  const has = commands.filter(({ name }) => !name.startsWith(wanted) && name.includes(rest));
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
