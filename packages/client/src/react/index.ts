export { useItem, useItemIds, usePart, usePartIds } from './use-items.ts';
export { useSelection } from './use-selection.ts';
export { useSession } from './use-session.ts';
export { useTask } from './use-task.ts';
