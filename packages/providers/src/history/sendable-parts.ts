import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Metadata,
  type Part,
  type ProviderState,
  parseJson,
  type TextPart,
  type ToolCallPart,
} from '@millrace/core';

/** The provider and model that a `providerState` belongs to. */
export interface StateOwner {
  readonly provider: string;
  readonly model: string;
}

function isOwn(state: ProviderState | undefined, owner: StateOwner): boolean {
  return state !== undefined && state.provider === owner.provider && state.model === owner.model;
}

/**
 * Returns the part without the state of other providers. Returns undefined for reasoning and hosted tool
 * blocks of a different provider, because only that provider can read them. Also returns undefined for such
 * parts if they were cut off, because they have no signature.
 */
export function partForOwner<P extends Part>(part: P, owner: StateOwner): P | undefined {
  const own = isOwn(part.providerState, owner);
  const isPrivate = part.kind === 'reasoning' || part.kind === 'custom';
  if (isPrivate && (!own || part.partial)) return undefined;
  if (own && !part.partial) return part;
  const { providerState: _foreign, ...rest } = part;
  return rest as P;
}

/** The metadata of a text in which the provider explains a refusal. The model did not write this text. */
export const refusalExplanation: Metadata = { refusal: true, isExplanation: true };

/** Returns whether a text is only for users. Such a text is never sent back to a model. */
export function isRefusalExplanation({ metadata }: TextPart): boolean {
  return metadata?.['isExplanation'] === true;
}

/** The arguments of a call, as text and as a value. Every provider accepts this form. */
interface SendableArguments {
  readonly arguments: string;
  readonly input: JsonObject;
}

/**
 * Returns the arguments of a call. If possible, the text is exactly what the model wrote. Returns undefined
 * if the arguments are not a JSON object.
 */
export function sendableArguments(part: ToolCallPart): SendableArguments | undefined {
  const written = parsedObject(part.arguments);
  const given = written ?? (isJsonObject(part.input) ? part.input : undefined);
  if (given === undefined)
    return part.arguments === '' ? { arguments: '{}', input: {} } : undefined;
  const input = wellFormedValue(given);
  return { arguments: input === written ? part.arguments : JSON.stringify(input), input };
}

function parsedObject(text: string): JsonObject | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/**
 * Replaces lone surrogates, because most providers reject them. Text with a provider state is never changed,
 * because the provider may have signed it.
 */
export function wellFormedText(part: TextPart): TextPart {
  if (part.providerState !== undefined || part.text.isWellFormed()) return part;
  return { ...part, text: part.text.toWellFormed() };
}

/**
 * Replaces lone surrogates in all strings of a value, because most providers reject them. Arguments can
 * contain them as escapes. Returns the same value if it contains no lone surrogates.
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

/**
 * Returns whether a value is an array. `Array.isArray` alone does not narrow the type of a readonly
 * array.
 */
function isArray(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
