import { IconButton, lazyView, ShareIcon } from '@millrace/react/controls';
import { Suspense, useState } from 'react';
import { pageLabels } from '../../languages/page-labels.ts';
import { useAccess } from '../app-context.ts';

const ShareDialog = lazyView(async () => (await import('./share-dialog.tsx')).ShareDialog);

/**
 * A button that opens the dialog with the shared links of a session. Only users who may create
 * links see it.
 */
export function ShareButton({ id }: { readonly id: string }) {
  const t = pageLabels();
  const { canShare } = useAccess();
  const [isOpen, setOpen] = useState(false);
  if (!canShare) return null;
  return (
    <>
      <IconButton label={t.share} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <ShareIcon />
      </IconButton>
      <Suspense>{isOpen && <ShareDialog id={id} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
