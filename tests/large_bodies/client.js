// Sends bodies of some lengths by HTTP/1.1 or HTTP/2, and prints what each is answered: client.js 1|2 URL AUTHORITY LENGTH...
const fs = require('fs');
const http = require('http');
const http2 = require('http2');
const https = require('https');
const { Readable } = require('stream');

const [version, url, authority, ...lengths] = process.argv.slice(2);
const ca = fs.readFileSync(authority);
const PIECE = Buffer.alloc(65536);

function* zeros(length) {
  for (let left = length; left > 0; left -= PIECE.length) yield left < PIECE.length ? PIECE.subarray(0, left) : PIECE;
}

function byHttp1(length) {
  return new Promise((resolve) => {
    const options = { method: 'POST', headers: { 'content-length': length }, ca };
    const request = (url.startsWith('https') ? https : http).request(url, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    request.on('error', (error) => resolve(error.code));
    Readable.from(zeros(length)).pipe(request);
  });
}

function byHttp2(length) {
  return new Promise((resolve) => {
    const { origin, pathname } = new URL(url);
    const session = http2.connect(origin, { ca });
    session.on('error', (error) => resolve(error.code));
    const stream = session.request({ ':method': 'POST', ':path': pathname, 'content-length': length });
    stream.on('response', (headers) => resolve(headers[':status']));
    stream.on('error', (error) => resolve(error.code));
    stream.on('close', () => session.destroy());
    Readable.from(zeros(length)).on('error', () => {}).pipe(stream);
  });
}

(async () => {
  for (const length of lengths) console.log(await (version === '2' ? byHttp2 : byHttp1)(Number(length)));
  process.exit(0);
})();
