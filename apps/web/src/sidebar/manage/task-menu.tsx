import {
  ArchiveIcon,
  EditIcon,
  FolderIcon,
  PinIcon,
  SelectIcon,
  TrashIcon,
} from '@millrace/react/controls';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { taskTitle } from '../../app/task-text.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { isPinned } from '../task-groups.ts';

/** An entry of the menu of a session. */
export type MenuAction = 'rename' | 'pin' | 'folder' | 'archive' | 'select' | 'delete';

export interface TaskMenuProps {
  readonly task: ListedTask;
  /**
   * The button that opened the menu. The menu appears below it. When the menu closes, the focus
   * returns to the button.
   */
  readonly anchor: HTMLElement;
  readonly onAction: (action: MenuAction) => void;
  readonly onClose: () => void;
}

/** The menu of a session. Arrow keys move between its entries, and Escape closes it. */
export function TaskMenu({ task, anchor, onAction, onClose }: TaskMenuProps) {
  const t = pageLabels();
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = menu;
    if (current === null) return;
    current.showPopover?.();
    const { left, bottom } = anchor.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = current;
    current.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`;
    current.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - offsetHeight - 8))}px`;
    current.querySelector('button')?.focus();
  }, [anchor]);
  const close = () => {
    onClose();
    anchor.focus();
  };
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const entries = [...event.currentTarget.querySelectorAll('button')];
    const at = entries.indexOf(document.activeElement as HTMLButtonElement);
    const next = nextIndex(event.key, at, entries.length);
    event.stopPropagation();
    if (event.key === 'Escape' || event.key === 'Tab') close();
    else if (next !== undefined) entries[next]?.focus();
    else return;
    event.preventDefault();
  };
  const entry = (action: MenuAction, icon: ReactNode, text: string) => (
    <button type="button" role="menuitem" data-action={action} onClick={() => onAction(action)}>
      {icon} {text}
    </button>
  );
  return (
    <div
      ref={menu}
      className="task-menu"
      role="menu"
      tabIndex={-1}
      popover="auto"
      aria-label={t.actionsFor(taskTitle(task))}
      onKeyDown={press}
      onToggle={({ newState }) => newState === 'closed' && onClose()}
    >
      {entry('rename', <EditIcon />, t.rename)}
      {entry('pin', <PinIcon />, isPinned(task) ? t.unpin : t.pin)}
      {entry('folder', <FolderIcon />, t.moveToFolderAsk)}
      {entry('select', <SelectIcon />, t.selectSeveral)}
      {entry('archive', <ArchiveIcon />, t.archive)}
      {entry('delete', <TrashIcon />, t.deleteAsk)}
    </div>
  );
}

/**
 * Returns the index of the entry to which a key moves the focus. Returns undefined for other keys.
 */
function nextIndex(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count;
    case 'ArrowUp':
      return (at - 1 + count) % count;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
