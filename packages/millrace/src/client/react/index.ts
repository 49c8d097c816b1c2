export * from '@millrace/client/react';
