import {
  type AskedApproval,
  disguisesIn,
  disguisesInCall,
  type FindDisguises,
  type FoldState,
  type FormQuestion,
  type JsonObject,
  type JsonValue,
  toArray,
} from '@millrace/core';

/** Maximum length of the input of a call in a question. A user can allow only a call that is shown completely. */
const maxInputLength = 100_000;
/** Maximum length of the shown reason. The call itself is above it and is never shortened. */
const maxReasonLength = 2000;

/** Describes a question of the agent in words. The call comes first, so that no other text can look like it. */
export function describeQuestion(asked: AskedApproval, state: FoldState): string {
  const { name, reason, from } = asked;
  const asker = askerOf(asked);
  if (from?.form !== undefined) return asker + shownForm(from.form).message;
  const what = `${asker}The agent wants to call the tool ${revealLine(name)}`;
  const input = shownInput(asked, state);
  const call =
    input === undefined
      ? `${what}. Its input cannot be shown here, so the call cannot be allowed here. Answer on the page or in the terminal`
      : `${what}:\n\n${fenced(input)}`;
  return reason === undefined ? call : `${call}\n\nReason:\n\n${fenced(shortReason(reason))}`;
}

/** Returns who asks, if it is not the agent of the session itself: a sub-agent, a guardrail or a tool. */
export function askerOf({ from }: AskedApproval): string {
  return from === undefined ? '' : `Asked by ${from.agents.map(revealLine).join(' → ')}:\n`;
}

/**
 * Returns the input of a call as JSON in which every character is visible. Returns undefined if the input is
 * unknown, is not JSON, or is too long for a question.
 */
export function shownInput(
  { toolCallId, from }: AskedApproval,
  { items }: FoldState,
): string | undefined {
  if (from !== undefined) return inputText(from.input);
  for (const { parts } of toArray(items).toReversed())
    for (const { part } of parts)
      if (part?.kind === 'tool_call' && part.toolCallId === toolCallId)
        return part.input === undefined ? undefined : inputText(part.input);
  return undefined;
}

/** Shows the hidden characters in the texts of a form. Names and values stay, because they are part of the answer. */
export function shownForm({ message, schema, ...rest }: FormQuestion): FormQuestion {
  const shown = mapTexts(schema, (text, field) => (shownFields.has(field) ? reveal(text) : text));
  return { ...rest, message: reveal(message), schema: shown as JsonObject };
}

/** Returns true if a user can see the whole form: no name and no value of it has hidden characters. */
export function isFormShowable(form: FormQuestion): boolean {
  let isShowable = true;
  mapTexts(form.schema, (text, field) => {
    isShowable &&= shownFields.has(field) || reveal(text) === text;
    return text;
  });
  return isShowable;
}

/** The fields of a schema with texts that a client only shows. */
const shownFields: ReadonlySet<string> = new Set(['title', 'description', 'enumNames']);

function inputText(input: JsonValue): string | undefined {
  const text = revealCall(JSON.stringify(input, null, 2));
  return text.length > maxInputLength ? undefined : text;
}

function shortReason(reason: string): string {
  const line = revealLine(reason);
  return line.length > maxReasonLength
    ? `${line.slice(0, maxReasonLength).toWellFormed()}… (the reason goes on)`
    : line;
}

/** Returns a text in a code block, because some clients draw a question as Markdown. No text can end its block. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/** Makes hidden content of a text for people visible. Quotation marks and other signs of the text stay. */
function reveal(text: string): string {
  return withCodes(text, disguisesIn);
}

/** Makes hidden content of the arguments of a call visible, including signs that look like signs of a shell. */
function revealCall(text: string): string {
  return withCodes(text, disguisesInCall)
    .replace(rightToLeft, (word) => `${word}‹rtl›`)
    .replace(/(?<=\S) {9,}|^ {41,}/gm, (run) => `‹${run.length} spaces›`);
}

function revealLine(text: string): string {
  return revealCall(text.replaceAll(/\r\n?|\n/g, ' ⏎ '));
}

/** Matches words that are written from right to left. Clients reverse the order of the text between two of them. */
const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}][\p{M}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]*/gu;

/** Matches control characters, except the line feeds of a text with several lines. */
const controls = /(?!\n)\p{Cc}/gu;

/** Replaces the characters that `find` finds, and control characters, with their codes. */
function withCodes(text: string, find: FindDisguises): string {
  let shown = '';
  let through = 0;
  for (const { index, text: one } of find(text)) {
    shown += text.slice(through, index) + codeOf(one);
    through = index + one.length;
  }
  return (shown + text.slice(through)).replace(controls, codeOf);
}

function codeOf(char: string): string {
  return `‹U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;
}

/** Changes all texts of a value. `field` is the name of the field that contains the text. Names are texts too. */
function mapTexts(
  value: JsonValue,
  change: (text: string, field: string) => string,
  field = '',
): JsonValue {
  if (typeof value === 'string') return change(value, field);
  if (Array.isArray(value)) return value.map((one: JsonValue) => mapTexts(one, change, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [change(name, ''), mapTexts(one, change, name)]),
  );
}
