import type { AgentEvent } from '@millrace/core';

/** The events of a type, or of several. */
export type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;
