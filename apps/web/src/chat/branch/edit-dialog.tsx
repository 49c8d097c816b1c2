import { type FormEvent, useState } from 'react';
import { failureWords } from '../../app/failure-words.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import './edit-dialog.css';

export interface EditDialogProps {
  readonly text: string;
  readonly onClose: () => void;
  readonly onSend: (text: string) => Promise<void>;
}

/** Says something else than what was said. */
export function EditDialog({ text: before, onClose, onSend }: EditDialogProps) {
  const [text, setText] = useState(before);
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    onSend(text.trim()).catch((reason: unknown) => {
      setSending(false);
      setError(failureWords(reason));
    });
  };
  return (
    <Dialog title="Say something else here" onClose={onClose}>
      <form className="edit-form" onSubmit={submit}>
        <p>It goes on from there in a branch. This session stays as it is.</p>
        <textarea
          aria-label="Message"
          dir="auto"
          rows={5}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {error !== undefined && (
          <p className="composer-error" role="alert">
            {error}
          </p>
        )}
        <div className="edit-bar">
          <Button look="main" type="submit" disabled={isSending || text.trim() === ''}>
            Send in a branch
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
