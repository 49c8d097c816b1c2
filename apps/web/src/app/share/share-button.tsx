import { lazy, Suspense, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { ShareIcon } from '../../design/icons.tsx';
import { useAccess } from '../app-context.ts';

const ShareDialog = lazy(async () => ({
  default: (await import('./share-dialog.tsx')).ShareDialog,
}));

/** A button that opens the links of a session. It is shown only to users who may create links. */
export function ShareButton({ id }: { readonly id: string }) {
  const { canShare } = useAccess();
  const [isOpen, setOpen] = useState(false);
  if (!canShare) return null;
  return (
    <>
      <IconButton label="Share" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <ShareIcon />
      </IconButton>
      <Suspense>{isOpen && <ShareDialog id={id} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
