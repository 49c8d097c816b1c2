import {
  type JsonObject,
  type JsonValue,
  type Metadata,
  type Part,
  type ProviderState,
  parseJson,
  type TextPart,
  type ToolCallPart,
} from '@millrace/core';
import { isObject } from '../json/fields.ts';

/** Whose `providerState` may be sent: this provider's, about this model. */
export interface StateOwner {
  readonly provider: string;
  readonly model: string;
}

function isOwn(state: ProviderState | undefined, owner: StateOwner): boolean {
  return state !== undefined && state.provider === owner.provider && state.model === owner.model;
}

/**
 * The part as this provider may see it again: without what another one keeps in it. Undefined for
 * what only its maker can read (reasoning, hosted-tool blocks) and for reasoning that was cut off,
 * which nobody signed.
 */
export function partForOwner<P extends Part>(part: P, owner: StateOwner): P | undefined {
  const own = isOwn(part.providerState, owner);
  const isPrivate = part.kind === 'reasoning' || part.kind === 'custom';
  if (isPrivate && (!own || part.partial)) return undefined;
  if (own && !part.partial) return part;
  const { providerState: _foreign, ...rest } = part;
  return rest as P;
}

/** On the text that says why the model was stopped: a refusal, but the provider's and not the model's. */
export const refusalExplanation: Metadata = { refusal: true, isExplanation: true };

/** It is for people: no model is told that it said so. */
export function isRefusalExplanation({ metadata }: TextPart): boolean {
  return metadata?.['isExplanation'] === true;
}

/** The arguments of a call as text and as value: a JSON object that every provider takes. */
interface SendableArguments {
  readonly arguments: string;
  readonly input: JsonObject;
}

/**
 * As the model wrote them wherever that can be sent, since `input` is derived from it; undefined where
 * they are no JSON object at all.
 */
export function sendableArguments(part: ToolCallPart): SendableArguments | undefined {
  const written = parsedObject(part.arguments);
  const given = written ?? (isObject(part.input) ? part.input : undefined);
  if (given === undefined)
    return part.arguments === '' ? { arguments: '{}', input: {} } : undefined;
  const input = wellFormedValue(given);
  return { arguments: input === written ? part.arguments : JSON.stringify(input), input };
}

function parsedObject(text: string): JsonObject | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}

/**
 * Half a surrogate pair in a request is refused by most providers. What has state of its provider may
 * be signed, and is never touched.
 */
export function wellFormedText(part: TextPart): TextPart {
  if (part.providerState !== undefined || part.text.isWellFormed()) return part;
  return { ...part, text: part.text.toWellFormed() };
}

/**
 * The value with half surrogate pairs replaced, which arguments may have as escapes: most providers
 * refuse them. The same value where there is none.
 */
export function wellFormedValue<V extends JsonValue>(value: V): V {
  return isWellFormed(value) ? value : (repairedValue(value) as V);
}

function isWellFormed(value: JsonValue): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([key, field]) => key.isWellFormed() && isWellFormed(field));
}

function repairedValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) return value.map(repairedValue);
  const entries = Object.entries(value).map(([key, field]) => [
    key.toWellFormed(),
    repairedValue(field),
  ]);
  return Object.fromEntries(entries);
}

/** Array.isArray, which does not narrow a readonly array by itself. */
function isArray(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
