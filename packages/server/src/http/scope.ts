/** What whoever asks may touch: all, or what belongs to one agent or to one task. */
export type Scope =
  | { readonly kind: 'all' }
  | { readonly kind: 'agent'; readonly agentId: string }
  | { readonly kind: 'task'; readonly taskId: string };

export const scopeOfAll: Scope = { kind: 'all' };
