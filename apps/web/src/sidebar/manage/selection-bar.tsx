import { errorText } from '@millrace/react';
import {
  ArchiveIcon,
  Button,
  FolderIcon,
  IconButton,
  PinIcon,
  TrashIcon,
} from '@millrace/react/controls';
import { useState } from 'react';
import { useApp } from '../../app/app-context.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { isPinned } from '../task-groups.ts';
import { changeTasks, type ManageRequest } from './task-actions.ts';
import './manage.css';

export interface SelectionBarProps {
  /** The selected sessions. */
  readonly tasks: readonly ListedTask[];
  readonly onRequest: (request: ManageRequest) => void;
  /** Called to end the selection. */
  readonly onDone: () => void;
}

/** The actions on the selected sessions. */
export function SelectionBar({ tasks, onRequest, onDone }: SelectionBarProps) {
  const t = pageLabels();
  const app = useApp();
  const [error, setError] = useState<string>();
  const areAllPinned = tasks.length > 0 && tasks.every(isPinned);
  const change = async (metadata: Parameters<typeof changeTasks>[2]) => {
    try {
      await changeTasks(
        app,
        tasks.map(({ id }) => id),
        metadata,
      );
      onDone();
    } catch (reason) {
      setError(errorText(reason, t));
    }
  };
  const isEmpty = tasks.length === 0;
  return (
    <section className="selection-bar" aria-label={t.selectedSessions}>
      <p role="status">{t.selectedCount(tasks.length)}</p>
      <IconButton
        label={areAllPinned ? t.unpin : t.pin}
        size="small"
        disabled={isEmpty}
        onClick={() => void change({ pinned: areAllPinned ? null : true })}
      >
        <PinIcon />
      </IconButton>
      <IconButton
        label={t.moveToFolderAsk}
        size="small"
        disabled={isEmpty}
        onClick={() => onRequest({ kind: 'folder', tasks })}
      >
        <FolderIcon />
      </IconButton>
      <IconButton
        label={t.archive}
        size="small"
        disabled={isEmpty}
        onClick={() => void change({ archived: true })}
      >
        <ArchiveIcon />
      </IconButton>
      <IconButton
        label={t.deleteAsk}
        size="small"
        disabled={isEmpty}
        onClick={() => onRequest({ kind: 'delete', tasks })}
      >
        <TrashIcon />
      </IconButton>
      <Button size="small" onClick={onDone}>
        {t.done}
      </Button>
      {error !== undefined && <p role="alert">{error}</p>}
    </section>
  );
}
