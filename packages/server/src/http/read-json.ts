import { type JsonFailure, type JsonValue, parseJson } from '@millrace/core';
import type { HttpLimits } from './http-limits.ts';

export type JsonBody =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly code: JsonFailure['code'] | 'encoding'; readonly why: string };

const decoder = new TextDecoder('utf-8', { fatal: true });

/** A body as JSON. What is wrong with it is told by where it is, and never quotes it. */
export function readJson(bytes: Uint8Array, limits: HttpLimits): JsonBody {
  const text = textOf(bytes);
  if (text === undefined) return { ok: false, code: 'encoding', why: 'it is not UTF-8' };
  const { maxBodyBytes: maxTextLength, maxJsonDepth: maxDepth } = limits;
  const result = parseJson(text, { maxTextLength, maxDepth });
  if (result.ok) return result;
  const { code, position, message } = result.failure;
  return { ok: false, code, why: `${message} (at character ${position})` };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
