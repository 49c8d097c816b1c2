export * from '@millrace/providers/scripted';
