export {
  useItem,
  useItemIds,
  usePart,
  usePartIds,
  useSelection,
  useSession,
  useTask,
} from './hooks.ts';
