import type { ListedTask } from '../../server/directory.ts';

/** What the user wants to do with sessions of the list. It is shown by `SessionManager`. */
export type ManageRequest =
  | { readonly kind: 'menu'; readonly task: ListedTask; readonly anchor: HTMLElement }
  | { readonly kind: 'folder'; readonly tasks: readonly ListedTask[] }
  | { readonly kind: 'delete'; readonly tasks: readonly ListedTask[] }
  | { readonly kind: 'archived' };
