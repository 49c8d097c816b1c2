import { parseJson, type SessionId } from '@millrace/core';

/** What is said to other processes when a transaction is committed. A hint: it may be lost. */
export interface Notice {
  readonly from: string;
  /** Undefined where they were too many to name. */
  readonly sessions: readonly SessionId[] | undefined;
}

/** Postgres takes 8000 bytes. */
const maxBytes = 7900;

export function channelOf(schema: string): string {
  return `millrace_${schema}`;
}

export function noticeText(from: string, sessions: readonly SessionId[]): string {
  const text = JSON.stringify({ from, sessions });
  return Buffer.byteLength(text) <= maxBytes ? text : JSON.stringify({ from });
}

/** Whatever cannot be read was meant for all. */
export function readNotice(text: string): Notice {
  const parsed = parseJson(text);
  const value = parsed.ok ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { from: '', sessions: undefined };
  const { from, sessions } = value as { readonly from?: unknown; readonly sessions?: unknown };
  const named = Array.isArray(sessions) ? (sessions as readonly SessionId[]) : undefined;
  return { from: String(from), sessions: named };
}
