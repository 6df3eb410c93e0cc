// The least that shows the first page of a PDF by pdf.js: no text layer, no fields, no pad.
import { getDocument, GlobalWorkerOptions } from './pdf.min.mjs';

GlobalWorkerOptions.workerSrc = 'pdf.worker.min.mjs';
const file = await getDocument({ url: new URL('lease.pdf', location.href).href }).promise;
const page = await file.getPage(1), canvas = document.querySelector('#page');
const viewport = page.getViewport({ scale: canvas.width / page.getViewport({ scale: 1 }).width });
await page.render({ canvas, canvasContext: canvas.getContext('2d'), viewport }).promise;
document.documentElement.dataset.shown = performance.now();
