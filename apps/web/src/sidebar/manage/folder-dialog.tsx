import { Button, Dialog } from '@millrace/react/controls';
import { type FormEvent, useId, useState } from 'react';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { folderOf } from '../task-groups.ts';
import { maxNameLength } from './task-actions.ts';

export interface FolderDialogProps {
  readonly tasks: readonly ListedTask[];
  readonly folders: readonly string[];
  /** Called with the name of a folder. Null removes the sessions from their folders. */
  readonly onFolder: (folder: string | null) => void;
  readonly onClose: () => void;
}

/** Asks for a folder for the sessions. A new name creates a folder. */
export function FolderDialog({ tasks, folders, onFolder, onClose }: FolderDialogProps) {
  const t = pageLabels();
  const names = new Set(tasks.map((task) => folderOf(task) ?? ''));
  const [name, setName] = useState(names.size === 1 ? ([...names][0] ?? '') : '');
  const listId = useId();
  const isInFolder = tasks.some((task) => folderOf(task) !== undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onFolder(name.trim() === '' ? null : name.trim());
  };
  return (
    <Dialog title={t.moveToAFolder} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p>{t.folderMeaning}</p>
        <label>
          {t.folder}
          <input
            list={listId}
            autoComplete="off"
            required
            maxLength={maxNameLength}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
        <datalist id={listId}>
          {folders.map((folder) => (
            <option key={folder} value={folder} />
          ))}
        </datalist>
        <div className="manage-buttons">
          <Button look="main" type="submit">
            {t.move}
          </Button>
          {isInFolder && <Button onClick={() => onFolder(null)}>{t.removeFromTheFolder}</Button>}
        </div>
      </form>
    </Dialog>
  );
}
