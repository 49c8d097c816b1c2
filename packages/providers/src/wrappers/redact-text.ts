import type { Delta, FilePart, Item, JsonObject, JsonValue, MediaPart, Part } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { attachmentText } from '../history/attachment.ts';
import { mapText, type PartTextChange } from '../provider/map-text.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { badOption, checkCounts, checkNames } from './check-options.ts';

/** One rule of `redactText`. */
export interface RedactionRule {
  /** The text to replace. A string is matched literally. */
  readonly pattern: RegExp | string;
  /** The text that replaces each match. Default: `[redacted]`. */
  readonly replacement?: string | undefined;
  /**
   * The length of the longest text that the pattern can match, in characters. The length includes text around
   * the match that the pattern checks. While an answer streams, at most this much text is held back. Default:
   * 256. For a string: its length.
   */
  readonly maxLength?: number | undefined;
}

/** Options of `redactText`. */
export interface RedactionOptions {
  /** The rules. Each rule is applied to the result of the previous rule. */
  readonly rules: readonly RedactionRule[];
  /** The place where text is redacted: in requests, in answers, or in both. Default: `both`. */
  readonly in?: 'request' | 'answer' | 'both' | undefined;
}

/**
 * Replaces texts in requests and in answers, for example keys or card numbers. It also finds a match that is
 * split into many deltas. It holds back only the last characters of a part, never the whole part. It redacts
 * text, reasoning, structured output, metadata, parts of hosted tools, and the names and contents of text
 * files.
 *
 * - The arguments of calls are redacted in requests, but not in answers, because the call would then run with
 *   different arguments.
 * - A part that changed loses its provider state and its signature, which can contain the original.
 * - Log probabilities are removed from answers, because they repeat the text in pieces.
 *
 * @example
 * const provider = redactText(anthropic({ model: 'claude-sonnet-4-5' }), {
 *   rules: [{ pattern: /\bsk-[A-Za-z0-9]{8,64}\b/, maxLength: 68 }],
 * });
 */
export function redactText(provider: Provider, options: RedactionOptions): Provider {
  checkNames('redactText', options, ['rules', 'in']);
  const { in: place = 'both' } = options;
  if (!['request', 'answer', 'both'].includes(place))
    throw badOption('redactText', `in is ${String(place)}; use request, answer or both`);
  const rules = compiledRules(options.rules);
  const again = rules.find(({ replacement }) => redactWhole(replacement, rules) !== replacement);
  if (again !== undefined)
    throw badOption('redactText', 'a rule matches a replacement; use another replacement');
  const redact = (text: string) => redactWhole(text, rules);
  const request = place === 'answer' ? undefined : (asked: ModelRequest) => redacted(asked, redact);
  return wrapProvider(provider, (asked, context, next) => {
    const steps = next(request === undefined ? asked : request(asked), context);
    return place === 'request' ? steps : redactAnswer(steps, rules);
  });
}

interface CompiledRule {
  readonly pattern: RegExp;
  readonly replacement: string;
  readonly maxLength: number;
}

function compiledRules(rules: readonly RedactionRule[]): readonly CompiledRule[] {
  if (!Array.isArray(rules) || rules.length === 0)
    throw badOption('redactText', 'rules is empty; pass at least one rule');
  return rules.map((rule) => {
    checkNames('redactText', rule, ['pattern', 'replacement', 'maxLength']);
    const { pattern, replacement = '[redacted]' } = rule;
    const isText = typeof pattern === 'string';
    if (pattern === '' || (!isText && !(pattern instanceof RegExp)))
      throw badOption('redactText', 'pattern is no regular expression and no text; pass one');
    const { maxLength = isText ? pattern.length : 256 } = rule;
    checkCounts('redactText', { maxLength });
    if (maxLength === Infinity)
      throw badOption('redactText', 'maxLength is Infinity; use the length of the longest match');
    const source = isText ? pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&') : pattern.source;
    const flags = isText ? 'g' : `${pattern.flags.replace(/[gy]/g, '')}g`;
    return { pattern: new RegExp(source, flags), replacement, maxLength };
  });
}

/**
 * Applies one rule to a text while it grows. The result is the same as replacing all matches in the complete
 * text.
 */
class StreamedRule {
  readonly #rule: CompiledRule;
  /** The text that is not emitted yet, preceded by some emitted text that the pattern can check. */
  #text = '';
  /** The position in `#text` up to which the text has been emitted. */
  #done = 0;
  hasChanged = false;

  constructor(rule: CompiledRule) {
    this.#rule = rule;
  }

  chunk(text: string): string {
    this.#text += text;
    return this.#take(false);
  }

  end(): string {
    return this.#take(true);
  }

  /**
   * Returns the text up to the first position at which a match could still change. A match at the end of the
   * text could become longer.
   */
  #take(isEnd: boolean): string {
    const { pattern, replacement, maxLength } = this.#rule;
    const text = this.#text;
    let decided = isEnd ? text.length : text.length - maxLength;
    const mayGrow = text.length - this.#done < maxLength * maxHeldMatches;
    let taken = '';
    for (let from = this.#done; from <= text.length; ) {
      pattern.lastIndex = from;
      const match = pattern.exec(text);
      if (match === null || (!isEnd && match.index >= decided)) break;
      const end = match.index + match[0].length;
      if (!isEnd && end === text.length && mayGrow) {
        decided = match.index;
        break;
      }
      from = Math.max(end, match.index + 1);
      if (match[0] === '') continue;
      taken += text.slice(this.#done, match.index) + replacement;
      this.#done = end;
      this.hasChanged = true;
    }
    const until = Math.max(this.#done, decided);
    taken += text.slice(this.#done, until);
    const before = Math.max(0, until - maxLength);
    this.#text = text.slice(before);
    this.#done = until - before;
    return taken;
  }
}

/**
 * Limits the text that is held while a match can still become longer. The limit is this number times the
 * `maxLength` of the rule. A longer match is replaced in pieces, so the memory stays bounded.
 */
const maxHeldMatches = 16;

/** Applies all rules, one after the other. */
class StreamedRedaction implements PartTextChange {
  readonly #rules: readonly StreamedRule[];

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules.map((rule) => new StreamedRule(rule));
  }

  get hasChanged(): boolean {
    return this.#rules.some(({ hasChanged }) => hasChanged);
  }

  chunk(text: string): string {
    return this.#rules.reduce((rest, rule) => rule.chunk(rest), text);
  }

  end(): string {
    return this.#rules.reduce((rest, rule) => rule.chunk(rest) + rule.end(), '');
  }
}

function redactWhole(text: string, rules: readonly CompiledRule[]): string {
  const redaction = new StreamedRedaction(rules);
  return redaction.chunk(text) + redaction.end();
}

async function* redactAnswer(
  steps: AsyncIterable<StreamStep>,
  rules: readonly CompiledRule[],
): AsyncGenerator<StreamStep> {
  const redact = (text: string) => redactWhole(text, rules);
  const changed = mapText(steps, () => new StreamedRedaction(rules), ['text', 'reasoning']);
  for await (const step of changed) {
    const isQuiet = step.deltas.every(({ type }) => type === 'append_text');
    if (isQuiet && step.end === undefined) yield step;
    else yield { ...step, deltas: step.deltas.map((delta) => redactDelta(delta, redact)) };
  }
}

type Redact = (text: string) => string;

/** Redacts a delta that does not contain streamed text. */
function redactDelta(delta: Delta, redact: Redact): Delta {
  switch (delta.type) {
    case 'set_metadata':
      return { ...delta, metadata: redactMetadata(delta.metadata, redact) };
    case 'replace_structured':
      return { ...delta, value: redactValue(delta.value, redact) };
    case 'commit_part':
      if (delta.part === undefined || delta.part.kind === 'tool_call') return delta;
      return { ...delta, part: redactPart(delta.part, redact) };
    default:
      return delta;
  }
}

function redactMetadata(metadata: JsonObject, redact: Redact): JsonObject {
  return redactValue(withoutLogprobs(metadata), redact) as JsonObject;
}

function withoutLogprobs(metadata: JsonObject): JsonObject {
  const { logprobs: _tokens, ...rest } = metadata;
  return rest;
}

function redacted(request: ModelRequest, redact: Redact): ModelRequest {
  const items = request.items.map((item): Item => {
    const parts = item.parts.map((part) => redactPart(part, redact));
    return parts.every((part, index) => part === item.parts[index]) ? item : { ...item, parts };
  });
  return { ...request, items };
}

/**
 * Returns the part with redacted content and without log probabilities. If a rule changes the part, the part
 * loses its provider state and signature. Returns the same part if there is nothing to remove.
 */
function redactPart(part: Part, redact: Redact): Part {
  const { providerState: _own, metadata, ...content } = part;
  const changed = redactContent(content as Part, redact);
  const noted = metadata && redactMetadata(metadata, redact);
  const isSame =
    (changed === content || JSON.stringify(changed) === JSON.stringify(content)) &&
    JSON.stringify(noted) === JSON.stringify(metadata && withoutLogprobs(metadata));
  if (isSame && metadata?.['logprobs'] !== undefined)
    return { ...part, metadata: withoutLogprobs(metadata) };
  if (isSame) return part;
  const { signature: _signed, ...rest } = changed as Part & { readonly signature?: string };
  return { ...rest, ...(noted === undefined ? {} : { metadata: noted }) };
}

function redactContent(part: Part, redact: Redact): Part {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return { ...part, text: redact(part.text) };
    case 'tool_call': {
      const { input, ...call } = part;
      const text = redactArguments(part.arguments, redact);
      return {
        ...call,
        arguments: text,
        ...(input === undefined ? {} : { input: redactValue(input, redact) }),
      };
    }
    case 'tool_result': {
      const { value, attachments } = part;
      const text = redact(part.text);
      return {
        ...part,
        text,
        ...(attachments && { attachments: attachments.map((one) => redactFile(one, redact)) }),
        ...(value === undefined ? {} : { value: redactValue(value, redact) }),
      };
    }
    case 'structured':
    case 'custom':
      return { ...part, value: redactValue(part.value, redact) };
    case 'media':
    case 'file':
      return redactFile(part, redact);
  }
}

/** Redacts the name and the content of a text file. Returns the same part if no rule matches. */
function redactFile<File extends MediaPart | FilePart>(part: File, redact: Redact): File {
  const text = attachmentText(part);
  const changed = text === undefined ? text : redact(text);
  const name = part.kind === 'file' ? redact(part.name) : '';
  if (changed === text && (part.kind !== 'file' || name === part.name)) return part;
  const named = part.kind === 'file' ? { ...part, name } : part;
  if (changed === undefined || changed === text) return named;
  const source = { type: 'bytes', bytes: new TextEncoder().encode(changed) } as const;
  // The new bytes are UTF-8, so the type loses its charset.
  return { ...named, mimeType: part.mimeType.replace(/;.*$/s, ''), source };
}

/** Redacts the arguments of a call. Only their strings are redacted, so they stay valid JSON. */
function redactArguments(text: string, redact: Redact): string {
  try {
    return JSON.stringify(redactValue(JSON.parse(text) as JsonValue, redact));
  } catch {
    return redact(text);
  }
}

function redactValue(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: JsonValue) => redactValue(one, redact));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, redactValue(field, redact)]),
  );
}
