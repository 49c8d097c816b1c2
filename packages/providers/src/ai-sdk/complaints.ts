import { type JsonValue, parseJson } from '@millrace/core';
import { complaintOf, complaintOfFailure } from '../errors/complaint.ts';
import type { Complaint } from '../errors/wire-fault.ts';
import { asJson } from './as-json.ts';

/** For looking at: what JSON cannot say is nothing here. */
function jsonOf(value: unknown): JsonValue {
  try {
    return asJson(value) ?? null;
  } catch {
    return null;
  }
}

/** An error that is a text or an object: the provider's own, as the package read it. */
export function complaintIn(given: unknown): Complaint {
  if (typeof given === 'string') return complaintOfText(given);
  const value = jsonOf(given);
  return complaintOf(value) ?? complaintOf({ error: value }) ?? complaintOfFailure(value, '');
}

export function complaintOfText(text: string): Complaint {
  const parsed = parseJson(text);
  return complaintOfFailure(parsed.ok ? parsed.value : undefined, text);
}

/** The complaint that JSON from the provider is, if it is one. */
export function complaintInData(data: unknown): Complaint | undefined {
  return complaintOf(jsonOf(data));
}
